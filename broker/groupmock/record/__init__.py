"""Recordings: what real consumers and a real cluster say to each other, as a journal of groupmock's own kind."""

from __future__ import annotations
