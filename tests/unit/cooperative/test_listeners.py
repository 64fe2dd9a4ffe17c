"""If a user's listener raises an exception, the rebalance continues, the other callbacks run, and the log names the listener."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from aiokafka import TopicPartition

from groupmock_clients.cooperative.aiokafka import CooperativeAssignor
from groupmock_clients.cooperative.listeners import lost_or_revoked, tell

OLD, GONE, NEW = (frozenset({TopicPartition("T", number)}) for number in range(3))
CALLBACKS = ("on_partitions_lost", "on_partitions_revoked", "on_partitions_assigned")


class Failing:
    """A listener that records its calls and raises an exception in one callback."""

    def __init__(self, bad: str) -> None:
        self.bad = bad
        self.told: list[tuple[str, set[Any]]] = []

    def _hear(self, name: str, partitions: set[Any]) -> None:
        self.told.append((name, partitions))
        if name == self.bad:
            raise ZeroDivisionError(name)

    async def on_partitions_lost(self, lost: set[Any]) -> None:
        self._hear("on_partitions_lost", lost)

    def on_partitions_revoked(self, revoked: set[Any]) -> None:
        self._hear("on_partitions_revoked", revoked)

    async def on_partitions_assigned(self, assigned: set[Any]) -> None:
        self._hear("on_partitions_assigned", assigned)


@pytest.mark.parametrize("bad", CALLBACKS)
async def test_a_callback_that_fails_keeps_no_other_from_being_called(bad: str, caplog: pytest.LogCaptureFixture) -> None:
    assignor, user = CooperativeAssignor(1), Failing(bad)
    assignor.lost, assignor.revoked, assignor.added = OLD, GONE, NEW
    with caplog.at_level(logging.ERROR, "groupmock.cooperative"):
        await assignor.listener(user).on_partitions_assigned(NEW)
    assert user.told == list(zip(CALLBACKS, (set(OLD), set(GONE), set(NEW)), strict=True))
    (record,) = caplog.records
    assert f"failed {bad}" in record.getMessage() and record.exc_info is not None


async def test_a_listener_without_a_method_is_told_nothing() -> None:
    await tell(None, "on_partitions_assigned", NEW)
    await tell(object(), "on_partitions_assigned", NEW)


def test_who_does_not_know_lost_partitions_hears_that_they_were_revoked() -> None:
    class Old:
        def on_partitions_revoked(self, revoked: Any) -> None: ...

    assert (lost_or_revoked(Old()), lost_or_revoked(Failing(""))) == ("on_partitions_revoked", "on_partitions_lost")
