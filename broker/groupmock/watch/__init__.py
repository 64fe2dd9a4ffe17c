"""Views of a running cluster: log lines made from journal rows, and the terminal view."""

from __future__ import annotations
