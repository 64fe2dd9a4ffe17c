# client: kafka-python 3.0.12
# breaks: CLIENT-39
# run: groupmock run --topic orders:4 --plan kafka-python-owned-after-loss.toml --journal finding.jsonl -- python kafka-python-owned-after-loss.py
"""kafka-python claims partitions that it has lost when it joins again by a cooperative protocol.

A heartbeat is answered UNKNOWN_MEMBER_ID: the session is over, others may have the partitions. The next JoinGroup has no member id, as it
should, and its Subscription still lists them as `owned_partitions` (KIP-429 has it empty then). A leader that believes it takes them from
their new owner without asking that one to revoke them first.
"""

import os
import time

from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

consumer = KafkaConsumer(
    "orders",
    bootstrap_servers=os.environ["GROUPMOCK_BOOTSTRAP"],
    group_id="desk",
    heartbeat_interval_ms=300,
    partition_assignment_strategy=[CooperativeStickyAssignor],
)
end = time.monotonic() + 5
while time.monotonic() < end:
    consumer.poll(timeout_ms=200)
consumer.close()
