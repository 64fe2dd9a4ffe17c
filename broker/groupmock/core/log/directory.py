"""The one log directory that every node reports. Nothing is on disk: it is Kafka's default for `log.dir`, as DescribeConfigs shows it."""

from __future__ import annotations

from typing import Final

LOG_DIR: Final = "/tmp/kafka-logs"
