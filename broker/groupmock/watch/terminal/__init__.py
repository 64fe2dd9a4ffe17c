"""The verb `groupmock watch` shows a cluster, which it reads over HTTP, in a terminal. `poll` asks the control API, `tables` and `plain`
format the answers, `app` shows them live. Only `app` needs the extra `watch` (textual)."""

from __future__ import annotations
