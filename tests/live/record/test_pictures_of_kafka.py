"""A new recording of real Kafka behind the proxy gives the same timeline as the same scenario on groupmock.

It needs java and the shared folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from timeline_twin import SETTINGS, differences, here, of_kafka, recorded, without_times

from tools.fidelity.generated.settings_classes import BROKERS
from tools.oracle import kafka


@pytest.mark.parametrize("version", BROKERS.values())
def test_kafka_behind_the_proxy_gives_our_picture(version: str, tmp_path: Path) -> None:
    with kafka(version, SETTINGS) as bootstrap:
        recorded(bootstrap, tmp_path / "kafka.jsonl")
    assert differences(without_times(of_kafka(tmp_path / "kafka.jsonl")), without_times(here())) == []
