"""The plug-in is tested with pytest's own pytester."""

from __future__ import annotations

pytest_plugins = ["pytester"]
