"""Wait until a broker has stored the start offsets of share partitions, which it does some time after the answer to a heartbeat
(docs/kafka/share-groups.md#sg-32) and the core does at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from groupmock_codec.api_keys import DESCRIBE_SHARE_GROUP_OFFSETS
from groupmock_codec.declare import Message
from groupmock_codec.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)

from ..generated.transcript import Facts
from .core_player import CorePlayer

Ask = Callable[[int, int, Message], Message]
"""A function that sends a request of the player's own, given API key, version and message."""
Initialized = frozenset[tuple[str, bytes, int]]
"""The initialized partitions of groups, as group id, topic id and partition."""
MOMENT_S: Final = 0.005
PATIENCE_S: Final = 10.0


class SharesAwaited:
    """Waits until the broker has initialized the share partitions that the core has, during one play."""

    def __init__(self, core: CorePlayer, ask: Ask, facts: Facts) -> None:
        self._core, self._ask, self._facts = core, ask, facts

    def standing(self) -> Initialized:
        """Return the partitions that the core has initialized, to be passed to `wait` after the next event."""
        states = self._core.core.cluster.shares.states
        return frozenset((name, *place) for name in self._facts.groups for place in states.of_group(name))

    def wait(self, before: Initialized) -> None:
        """Wait until the broker has initialized what the core has initialized since `before`, at most some seconds."""
        wanted, end = self.standing() - before, time.monotonic() + PATIENCE_S
        while wanted and wanted - self._described() and time.monotonic() < end:
            time.sleep(MOMENT_S)  # The broker is polled, because it offers no event to wait for.

    def _described(self) -> Initialized:
        groups = [DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in self._facts.groups]
        answer = self._ask(DESCRIBE_SHARE_GROUP_OFFSETS, 0, DescribeShareGroupOffsetsRequest(groups=groups))
        assert isinstance(answer, DescribeShareGroupOffsetsResponse)
        rows = ((group.group_id, topic.topic_id, row) for group in answer.groups for topic in group.topics for row in topic.partitions)
        return frozenset((name, topic_id, row.partition_index) for name, topic_id, row in rows)
