"""The directory in which each node claims to keep its logs. Nothing is on disk here: it is the default of Kafka's `log.dir`, as
DescribeConfigs shows it."""

from __future__ import annotations

from typing import Final

LOG_DIR: Final = "/tmp/kafka-logs"
