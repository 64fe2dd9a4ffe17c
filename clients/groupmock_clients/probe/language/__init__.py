"""The language of exchanges: parse steps, resolve names, match patterns against values, slow a dialogue down."""

from __future__ import annotations
