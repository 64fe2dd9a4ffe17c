"""The one directory that each node says it keeps its logs in. Nothing is on disk here: it is the default of Kafka's `log.dir`, as
DescribeConfigs shows it."""

from __future__ import annotations

from typing import Final

LOG_DIR: Final = "/tmp/kafka-logs"
