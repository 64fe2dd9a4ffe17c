# client: confluent-kafka 2.16.1
# breaks: CLIENT-69
# run: groupmock run --topic orders:1 --nodes 2 --plan offsets-elsewhere --journal finding.jsonl -- python librdkafka-offset-refused.py
"""librdkafka never asks again for a committed offset that it was refused, and reads nothing from then on.

The coordinator moves just as the consumer asks for its offsets: OffsetFetch is answered NOT_COORDINATOR for the group, without partitions
(v8 and newer). librdkafka finds the new coordinator, goes on with heartbeats, and leaves its partitions in the state "queried": the group is
Stable, the lag grows, and nobody is told. Known as https://github.com/confluentinc/librdkafka/issues/5586.
"""

import os
import time

from confluent_kafka import Consumer, Producer

BOOTSTRAP = os.environ["GROUPMOCK_BOOTSTRAP"]
SECONDS = 25.0

producer = Producer({"bootstrap.servers": BOOTSTRAP})
for number in range(10):
    producer.produce("orders", b"%d" % number, partition=0)
producer.flush()

consumer = Consumer(
    {
        "bootstrap.servers": BOOTSTRAP,
        "group.id": "desk",
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
    }
)
consumer.subscribe(["orders"])
read, end = 0, time.monotonic() + SECONDS
while time.monotonic() < end:
    message = consumer.poll(0.2)
    read += message is not None and message.error() is None
print(f"assigned {consumer.assignment()}, and after {SECONDS:.0f} s {read} of 10 records were read")
consumer.close()
