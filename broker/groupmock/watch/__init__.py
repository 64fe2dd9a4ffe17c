"""A running cluster can be watched by log lines, made from journal rows, and by a view in the terminal."""

from __future__ import annotations
