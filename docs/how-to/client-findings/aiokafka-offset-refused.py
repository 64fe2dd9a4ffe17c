# client: aiokafka 0.14.0
# breaks: CLIENT-69
# run: groupmock run --topic orders:1 --plan aiokafka-offset-refused.toml --journal finding.jsonl -- python aiokafka-offset-refused.py
"""aiokafka takes a refused OffsetFetch for "nothing was committed", and skips records.

Since OffsetFetch v2 (KIP-88) an error of the whole request stands beside the topics, which are empty then. `_do_fetch_commit_offsets` of
aiokafka/consumer/group_coordinator.py looks at the errors of partitions alone. Here offset 0 is committed, ten records come, and a consumer
starts whose OffsetFetch is answered COORDINATOR_LOAD_IN_PROGRESS once, as while a coordinator restarts. It begins at auto_offset_reset: ten
records are never read (with "earliest" all would be read again).
"""

import asyncio
import os

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

BOOTSTRAP = os.environ["GROUPMOCK_BOOTSTRAP"]
ORDERS = TopicPartition("orders", 0)


async def consumer() -> AIOKafkaConsumer:
    made = AIOKafkaConsumer(
        "orders", bootstrap_servers=BOOTSTRAP, group_id="desk", enable_auto_commit=False, auto_offset_reset="latest"
    )
    await made.start()
    return made


async def main() -> None:
    first = await consumer()
    await first.commit({ORDERS: 0})
    await first.stop()
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP) as producer:
        for number in range(10):
            await producer.send_and_wait("orders", b"%d" % number, partition=0)
    second = await consumer()
    began = await second.position(ORDERS)
    await second.getmany(timeout_ms=1500)
    print(f"committed: {await second.committed(ORDERS)}, and the consumer begins at {began}")
    await second.stop()


asyncio.run(main())
