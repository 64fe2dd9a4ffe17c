"""The version of groupmock, in a module that every other module can import without importing the rest."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
