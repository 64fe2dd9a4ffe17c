"""Provides the fixture `house`: a broker with a journal, and members with the cooperative assignors that end with the test."""

from __future__ import annotations

from coop_house import house

__all__ = ["house"]
