"""The data path's only asyncio code: sockets, framing, one request at a time per connection, and the driver around the core."""

from __future__ import annotations
