"""Every node reports one log directory, which does not exist on disk. It is Kafka's default for `log.dir`, as
DescribeConfigs shows it."""

from __future__ import annotations

from typing import Final

LOG_DIR: Final = "/tmp/kafka-logs"
