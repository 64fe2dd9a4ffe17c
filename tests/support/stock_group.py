"""Runs two stock consumers for `groupmock run -- python stock_group.py LIBRARY`: both join, then both leave."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from kafka import KafkaProducer
from stock_members import Member, spec

TURN_MS = 20
NAMES = {"aiokafka": ("anna", "ben"), "kafka-python": ("kafka-python", "kafka-python")}
"""Client ids of the two members by library. Those of kafka-python share one, as applications that set none."""
ASSIGNORS = {"aiokafka": "roundrobin", "kafka-python": "cooperative-sticky"}
"""An eager assignor for aiokafka and an incremental one for kafka-python."""


def main(library: str) -> None:
    """Start one member after the other; the second leaves first."""
    where = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    producer = KafkaProducer(bootstrap_servers=where)

    def member(name: str) -> Member:
        chosen = {"assignors": (ASSIGNORS[library],), "commit_ms": 5000, "session_ms": 6000, "heartbeat_ms": 50, "poll_ms": 1000}
        return Member(spec(library, name, where, "kitchen", ("orders",), **chosen))

    def until(reached: Callable[[], bool]) -> None:
        """Wait for a condition and meanwhile write records to every partition."""
        while not reached():
            for partition in range(6):
                producer.send("orders", b"one", partition=partition)
            time.sleep(TURN_MS / 1000)

    first, second = NAMES[library]
    one = member(first)
    until(lambda: len(one.owned()) == 6)
    two = member(second)
    until(lambda: len(one.owned()) == len(two.owned()) == 3)
    two.stop()
    until(lambda: len(one.owned()) == 6)
    one.stop()
    producer.close()


if __name__ == "__main__":
    main(sys.argv[1])
