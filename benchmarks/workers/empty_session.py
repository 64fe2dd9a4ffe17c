"""Starts and stops the pipeline's session without a job, to measure the time that every job pays before it begins."""

from __future__ import annotations

from groupmock_pipeline.session import session

session("empty").stop()
