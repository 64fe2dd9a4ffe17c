"""Runs librdkafka's mock cluster in C, as confluent-kafka carries it: one broker, one topic, announced in one JSON line.

    python -m benchmarks.peers.cmock DELAY_MS

Its initial rebalance delay is 3 s, and no property changes it. Where the wheel allows it, ctypes calls the C function that does, which
saves 3 s per run. No measurement depends on the delay, because the clock starts after the members have joined.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path

import confluent_kafka
from confluent_kafka import Producer

HANDLE_OFFSET = 16
"""The place where a confluent_kafka.Producer keeps its rd_kafka_t*: behind the object's reference count and type."""


def set_delay(producer: Producer, milliseconds: int) -> bool:
    """Set the initial rebalance delay of librdkafka's mock. Returns False where the wheel hides the C function."""
    library = next(iter(Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*.so*")), None)
    if library is None:
        return False
    rdkafka = ctypes.CDLL(str(library))
    rdkafka.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    rdkafka.rd_kafka_handle_mock_cluster.argtypes = [ctypes.c_void_p]
    rdkafka.rd_kafka_mock_group_initial_rebalance_delay_ms.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    handle = ctypes.c_void_p.from_address(id(producer) + HANDLE_OFFSET).value
    cluster = rdkafka.rd_kafka_handle_mock_cluster(handle)
    if not cluster:
        return False
    rdkafka.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, milliseconds)
    return True


def main() -> None:
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "", "log_level": 3})
    brokers = producer.list_topics(timeout=10).brokers
    broker = next(iter(brokers.values()))
    ready = {"ready": True, "bootstrap": f"{broker.host}:{broker.port}", "pid": os.getpid()}
    print(json.dumps(ready | {"delay_set": set_delay(producer, int(sys.argv[1]))}), flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
