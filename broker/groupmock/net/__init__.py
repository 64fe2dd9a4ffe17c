"""The data path has all asyncio code of the broker: sockets, framing, the dispatch of requests and the driver around the core."""

from __future__ import annotations
