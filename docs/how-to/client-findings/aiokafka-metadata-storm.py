# client: aiokafka 0.14.0
# breaks: CLIENT-68
# run: groupmock run --topic orders:1 --nodes 2 --plan aiokafka-metadata-storm.toml --journal finding.jsonl -- python aiokafka-metadata-storm.py
"""aiokafka asks for metadata without a pause while a partition has no leader.

The node that leads the only partition that the consumer has is gone: Metadata is answered LEADER_NOT_AVAILABLE for it. The fetcher has
nothing in flight to wait for then, and aiokafka asks again at once, thousands of times
a second, on every connection that it has, for as long as the node is away.
"""

import asyncio
import os

from aiokafka import AIOKafkaConsumer

BOOTSTRAP = os.environ["GROUPMOCK_BOOTSTRAP"]


async def main() -> None:
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=BOOTSTRAP, group_id="desk", auto_offset_reset="earliest", heartbeat_interval_ms=300
    )
    await consumer.start()
    for _ in range(15):
        await consumer.getmany(timeout_ms=200)
    await consumer.stop()


asyncio.run(main())
