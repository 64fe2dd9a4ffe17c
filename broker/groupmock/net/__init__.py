"""The only asyncio of the data path: sockets, framing, one request at a time per connection, and the driver around the pure core."""

from __future__ import annotations
