"""`groupmock watch`: a cluster in a terminal, asked over HTTP and nothing else. `poll` asks, `tables` and `plain` make text of the answers,
`app` shows them live; only `app` needs the extra `watch` (textual)."""

from __future__ import annotations
