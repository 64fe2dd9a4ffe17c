"""The audit judges a client by the requests that it sent: its rules read journal rows, live or from a file. The audit imports nothing of
the core, because a judge that shares the defendant's code agrees with its bugs (docs/reference/architecture.md#rule-3)."""
