"""The sizes of a scenario, which are settings of a campaign and columns of its table."""

from __future__ import annotations

from typing import Final, get_type_hints

from groupmock_clients.scenarios.play import Sizes

SIZES: Final[dict[str, type]] = {name: kind for name, kind in get_type_hints(Sizes).items() if name != "seed"}
"""Maps each size to its type in the scenarios. The seed is left out, because it is swept by itself."""
