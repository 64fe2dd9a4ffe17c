"""The language of exchanges: text to steps, what names in it mean, patterns against values, the same dialogue in slower motion."""

from __future__ import annotations
