"""Each module here is one figure: `KEYS` names the targets that it fills, `run(bench)` measures them."""

from __future__ import annotations
