"""The pipeline's session, started and stopped, with nothing asked of it: what every job pays before it begins."""

from __future__ import annotations

from groupmock_pipeline.session import session

session("empty").stop()
