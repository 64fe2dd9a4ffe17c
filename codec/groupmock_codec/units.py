"""Defines factors between units of time. Times and deadlines of a run are int nanoseconds; settings and fields of messages are Kafka's
milliseconds."""

from __future__ import annotations

from typing import Final

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
MS_PER_S: Final = 1000
