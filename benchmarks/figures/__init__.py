"""One module per figure: `KEYS` names the targets it fills, `run(bench)` measures them."""

from __future__ import annotations
