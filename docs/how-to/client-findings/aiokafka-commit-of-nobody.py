# client: aiokafka 0.14.0
# breaks: CLIENT-21
# run: groupmock run --topic orders:1 --plan aiokafka-commit-of-nobody.toml --journal finding.jsonl -- python aiokafka-commit-of-nobody.py
"""aiokafka commits without generation and member id after its member was expelled.

A heartbeat is answered UNKNOWN_MEMBER_ID: the session is over, others have the partitions. `reset_generation` forgets generation and id,
and then the last automatic commit before the rejoin (`_on_join_prepare`) goes out with generation -1 and an empty id, as of a client that
assigns itself. A group that is Empty by then accepts such a commit: it takes back what other members have committed since.
"""

import asyncio
import os

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

BOOTSTRAP = os.environ["GROUPMOCK_BOOTSTRAP"]


async def main() -> None:
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP) as producer:
        await producer.send_and_wait("orders", b"one")
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=BOOTSTRAP,
        group_id="desk",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=300,
        auto_commit_interval_ms=60_000,  # so that only the commit before the rejoin is seen
    )
    await consumer.start()
    for _ in range(10):
        await consumer.getmany(timeout_ms=300)
    await consumer.stop()


asyncio.run(main())
