"""Runs N raw members of one consumer group or share group until they have settled, and reports what the server needed for it.

    python -m benchmarks.workers.consumer_group HOST PORT PID GROUP COUNT TOPIC PARTITIONS {consumer,mixed,share}

The JSON line has the seconds from the first heartbeat until all partitions are held at one epoch, the server's CPU seconds meanwhile, its
resident bytes before connecting, connected and settled, and the number of heartbeats. Then the connections stay open until standard input
ends.
"""

from __future__ import annotations

import json
import sys

from ..consumer_group import ConsumerGroup, MixedGroup, ShareGroup
from ..generators import Failed
from ..machine import cpu_seconds, resident_bytes

GIVE_UP_S = 120.0


def main() -> None:
    host, port, pid, name, count, topic, partitions, kind = sys.argv[1:]
    server = int(pid)
    before = resident_bytes(server)
    group = {"consumer": ConsumerGroup, "mixed": MixedGroup, "share": ShareGroup}[kind]((host, int(port)), name, topic, int(count))
    connected, cpu = resident_bytes(server), cpu_seconds(server)
    try:
        seconds = group.settle(int(partitions), GIVE_UP_S)
    except Failed as failure:
        sys.exit(str(failure))
    readings = {
        "seconds": seconds, "cpu_s": cpu_seconds(server) - cpu, "heartbeats": group.sent,
        "before": before, "connected": connected, "settled": resident_bytes(server),
    }  # fmt: skip
    print(json.dumps(readings), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
