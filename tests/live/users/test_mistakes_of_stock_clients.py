"""A stock consumer makes the mistakes of docs/how-to/read-the-story.md, and the story names each cause in the page's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import aiokafka
import pytest

from groupmock import Broker


def consumer(broker: Broker, name: str, *topics: str, **how: object) -> Any:
    settings = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 100, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    return aiokafka.AIOKafkaConsumer(
        *(topics or ("orders",)), bootstrap_servers=broker.bootstrap, group_id="kitchen", client_id=name, **settings | how
    )


async def commit_after_revoke(broker: Broker) -> None:
    """Let the member expire while its worker is busy, and commit with the generation that the group has left behind."""
    anna = consumer(broker, "anna", heartbeat_interval_ms=3000)
    await anna.start()
    record = await anna.getone()
    broker.expire("kitchen", "anna")
    with pytest.raises(aiokafka.errors.KafkaError):
        await anna.commit({aiokafka.TopicPartition("orders", record.partition): record.offset + 1})
    await anna.stop()


async def no_commit(broker: Broker) -> None:
    for _ in range(2):
        anna = consumer(broker, "anna")
        await anna.start()
        await anna.getone()
        await anna.stop()


async def reset_to_latest(broker: Broker) -> None:
    anna = consumer(broker, "anna", auto_offset_reset="latest")
    await anna.start()
    for partition in range(4):
        assert await anna.position(aiokafka.TopicPartition("orders", partition)) == 3
    await anna.stop()


async def static_id_twice(broker: Broker) -> None:
    one = consumer(broker, "pod-1", group_instance_id="kitchen-0")
    other = consumer(broker, "pod-2", group_instance_id="kitchen-0")
    await one.start()
    await other.start()
    with pytest.raises(aiokafka.errors.KafkaError):
        await one.commit({aiokafka.TopicPartition("orders", 0): 1})
    await other.stop()
    await one.stop()


async def commits_in_the_wrong_order(broker: Broker) -> None:
    anna = consumer(broker, "anna")
    await anna.start()
    for offset in (3, 1):
        await anna.commit({aiokafka.TopicPartition("orders", 2): offset})
    await anna.stop()


TOLD = [
    (commit_after_revoke, r"anna.* is gone: its session expired, ordered by expire_member.*commit of orders/\d = 1 REFUSED"),
    (no_commit, r"nothing committed\n.*finds committed: nothing for .*finds committed: nothing for "),
    (reset_to_latest, r"finds committed: nothing for .*asks where the log ends: orders/0-3 = 3"),
    (static_id_twice, r"\(client pod-2\) takes the place of kitchen-0#\w{4}: static id kitchen-0.*commit of orders/0 = 1 REFUSED: "),
    (commits_in_the_wrong_order, r"commits orders/2 = 3\n.*commits orders/2 = 1: BACK from 3"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "told"), TOLD, ids=lambda value: getattr(value, "__name__", ""))
async def test_the_story_names_the_cause(mistake: Callable[[Broker], object], told: str) -> None:
    with Broker(topics={"orders": 4}, group_initial_rebalance_delay_ms=0) as broker:
        for partition in range(4):
            for _ in range(3):
                broker.produce("orders", b"x", partition=partition)
        await mistake(broker)  # type: ignore[misc]
        story = broker.story("kitchen")
    assert re.search(told, story, re.DOTALL), story
