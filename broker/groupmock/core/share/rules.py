"""Reads the rules by which records are delivered to a share group from its configs, or from the broker's where the group has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from .runs import ARCHIVED, AVAILABLE, Run

if TYPE_CHECKING:
    from ..groups.configs import GroupConfigs

LOCK: Final = "share.record.lock.duration.ms"
DELIVERIES: Final = "share.delivery.count.limit"
LOCKS: Final = "share.partition.max.record.locks"
RESET: Final = "share.auto.offset.reset"
ISOLATION: Final = "share.isolation.level"
RENEWAL: Final = "share.renew.acknowledge.enable"
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
COPIES: Final = "errors.deadletterqueue.copy.record.enable"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"
MOST_KEPT: Final = 1000
"""The rules of this many groups are kept. They are only kept to be found quickly."""
LONGEST_KEPT: Final = 256
"""Rules are not kept for a longer group id, because requests may name groups that do not exist, and ids have no limit."""


class RecordRules(msgspec.Struct, frozen=True):
    """The rules of delivery to one group. `lock_ms` is the time that a member has for a record, `delivery_limit` the number of
    deliveries, and `max_locks` the number of records of a partition that may be in flight. `reset` says where a group begins that has
    no offset. `dead_letters` names the topic for rejected records, or is empty; with `copies` they keep key and value there."""

    lock_ms: int
    delivery_limit: int
    max_locks: int
    reset: str
    committed: bool
    renewable: bool
    dead_letters: str = ""
    copies: bool = False

    @property
    def slow_from(self) -> int:
        """Return the number of deliveries from which on deliveries are throttled."""
        return max(2, (self.delivery_limit + 1) // 2)

    def released(self, run: Run) -> Run:
        """Return acquired records as they are after their release: available, or archived after their last delivery (SG-230)."""
        return run.now(ARCHIVED if run.count >= self.delivery_limit else AVAILABLE, run.count)


class RulesOfGroups:
    """Finds the rules of a group. A changed config counts from the next delivery on (SG-138)."""

    def __init__(self, configs: GroupConfigs) -> None:
        self._configs = configs
        self._kept: dict[str, tuple[Mapping[str, str] | None, RecordRules]] = {}

    def of(self, group_id: str, node: int) -> RecordRules:
        own = self._configs.own.get(group_id)
        kept = self._kept.get(group_id)
        if kept is not None and kept[0] is own:
            return kept[1]
        if len(group_id) > LONGEST_KEPT:
            return self._read(group_id, node)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        rules = self._read(group_id, node)
        self._kept[group_id] = own, rules
        return rules

    def _read(self, group_id: str, node: int) -> RecordRules:
        def value(name: str) -> str:
            return self._configs.effective(group_id, name, node)

        own = self._configs.of(group_id)
        return RecordRules(
            lock_ms=int(value(LOCK)),
            delivery_limit=int(value(DELIVERIES)),
            max_locks=int(value(LOCKS)),
            reset=value(RESET).strip(),
            committed=value(ISOLATION) == "read_committed",
            renewable=value(RENEWAL).strip().lower() == "true",
            # The broker has no values for these two configs, which groups have since Kafka 4.4.
            dead_letters=own.get(DEAD_LETTERS, ""),
            copies=own.get(COPIES, "").strip().lower() == "true",
        )
