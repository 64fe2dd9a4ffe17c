"""The data path is the only asyncio code of the broker: sockets, framing, the dispatch of requests and the driver around the core."""

from __future__ import annotations
