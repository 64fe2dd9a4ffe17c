"""Sweeps of scenario x protocol x sizes x seed on the virtual clock, played by Spark's executors."""

from __future__ import annotations
