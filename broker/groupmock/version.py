"""The version, where everything can import it without importing the rest."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
