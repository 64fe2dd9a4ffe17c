"""The sizes of a scenario: settings of a campaign, columns of its table."""

from __future__ import annotations

from typing import Final, get_type_hints

from groupmock_clients.scenarios.play import Sizes

SIZES: Final[dict[str, type]] = {name: kind for name, kind in get_type_hints(Sizes).items() if name != "seed"}
"""Name of a size -> its type, as the scenarios have it; the seed is swept by itself."""
