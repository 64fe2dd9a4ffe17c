"""Work in a share group with confluent-kafka, and print what was delivered and answered, a JSON list a line.

    python share_worker.py BOOTSTRAP GROUP TOPIC {explicit,implicit,crash,after} COUNT

`ShareWorker.java` does the same with the Java client. A line `["holding"]` says that the next delivery waits for the end of a lock.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from confluent_kafka import AcknowledgeType, ShareConsumer

ANSWERS = {3: AcknowledgeType.RELEASE, 4: AcknowledgeType.REJECT, 9: AcknowledgeType.RELEASE}


def tell(*what: Any) -> None:
    print(json.dumps(what), flush=True)


def take(worker: ShareConsumer, count: int) -> list[Any]:
    """Poll until one poll returns so many records, as they were written before and wait in one partition."""
    records: list[Any] = []
    while len(records) < count:
        records += worker.poll(timeout=0.5)
    tell("got", sorted([record.offset(), record.delivery_count()] for record in records))
    return records


def commit(worker: ShareConsumer) -> None:
    errors = [None if each is None else each.args[0].name() for each in worker.commit_sync().values()]
    tell("committed", errors)


def explicit(worker: ShareConsumer, other: ShareConsumer, count: int) -> None:
    for record in take(worker, count):
        worker.acknowledge(record, ANSWERS.get(record.offset(), AcknowledgeType.ACCEPT))
    commit(worker)
    held, last = take(worker, 2)
    worker.acknowledge(held)
    commit(worker)
    tell("holding")
    (again,) = take(other, 1)
    worker.acknowledge(last)
    commit(worker)
    other.acknowledge(again)
    commit(other)


def implicit(worker: ShareConsumer, other: ShareConsumer, count: int) -> None:
    take(worker, count)
    tell("second", [record.offset() for record in worker.poll(timeout=2.0)])
    worker.close()


def main() -> None:
    bootstrap, group, topic, how, count = sys.argv[1:]
    mode = "implicit" if how == "implicit" else "explicit"
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "share.acknowledgement.mode": mode}
    worker, other = ShareConsumer(settings | {"client.id": "one"}), ShareConsumer(settings | {"client.id": "two"})
    worker.subscribe([topic])
    other.subscribe([topic])
    if how == "explicit":
        explicit(worker, other, int(count))
    elif how == "implicit":
        implicit(worker, other, int(count))
    else:
        records = take(worker, int(count))
        if how == "crash":
            sys.stdin.read()
        for record in records:
            worker.acknowledge(record)
        commit(worker)
    if how != "implicit":
        worker.close()
    other.close()


if __name__ == "__main__":
    main()
