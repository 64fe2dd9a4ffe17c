"""The control API serves steering, faults, journal queries and metrics over HTTP, on a port of its own (docs/reference/control.md).

`routes.ROUTES` is the only table of routes. The server, the OpenAPI document, docs/reference/control.md and the verbs `topic`, `group`,
`faults`, `cluster` and `journal` are made from it. Only `server` and `metrics` need the extra `control` (aiohttp, prometheus-client).
"""

from __future__ import annotations
