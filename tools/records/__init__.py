"""What was measured and recorded, as data: pages are written from it, tests hold it to what it must be."""

from __future__ import annotations

from pathlib import Path
from typing import Final

RECORDS: Final = Path(__file__).resolve().parent
