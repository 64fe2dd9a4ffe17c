"""The checks of a consumer client: two members, six partitions, a crash, a restart, a static member."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .cell import Row
from .desk import Desk
from .member import Member
from .telling import PATIENCE, same, wait
from .wire import Described

PARTITIONS = 6
PER_PARTITION = 10
BATCH = PARTITIONS * PER_PARTITION
ALL = list(range(PARTITIONS))
NOTHING: Mapping[str, str] = MappingProxyType({})
SESSION_MS = 4000
STATIC_SESSION_MS = int(PATIENCE * 400)  # a process must be back before: 12 s, more on a busy machine
HEARTBEAT_MS = 300
# Members let a fetch wait for 200 ms. One that was parked before a rebalance may bring records of partitions lost since, and not every
# client throws them away (@platformatic/kafka hands them on, on Kafka as on groupmock); no event tells that it is over, only time does.
PARKED_SECONDS = 0.3


class GroupRow(Row):
    """Judge one broker by one client with one assignor."""

    def __init__(self, name: str, command: list[str], assignor: str, desk: Desk, folder: Path) -> None:
        super().__init__(name, desk, folder)
        self._command, self._assignor = command, assignor
        self._label = "matrix-" + "".join(each if each.isalnum() else "-" for each in name) + "-" + secrets.token_hex(4)
        self.topic, self.group, self._statics = self._label, f"{self._label}-group", f"{self._label}-static"
        self._members: list[Member] = []
        self._count = itertools.count(1)
        self._first: Member
        self._second: Member

    def run(self, static: bool, short: bool) -> None:
        """Every check; `short` leaves out crash and static member (what takes session timeouts)."""
        try:
            self.desk.create_topic(self.topic, PARTITIONS)
            self._checks(static, short)
        finally:
            for each in self._members:
                self.client = self.client or each.client_said
                each.kill()

    def _checks(self, static: bool, short: bool) -> None:
        self.check("joins", self._joins)
        self.check("consumes", self._consumes, after="joins")
        self.check("commits", self._commits, after="consumes")
        if not short:
            self.check("crash", self._crash, after="commits")
        self.check("resumes", self._resumes, after="commits" if short else "crash")
        if not static:
            self.without("static")
        elif not short:
            self.check("static", self._static)

    def _described(self, group: str) -> Described:
        return self.desk.describe(group)

    def _generation(self, group: str) -> int:
        return self.desk.generation(group)

    def _member(self, group: str, instance: str | None = None, session_ms: int = SESSION_MS, other: Mapping[str, str] = NOTHING) -> Member:
        """`other`: of its wish, instead of what the row's members have."""
        name = f"member-{next(self._count)}"
        wish: dict[str, object] = {
            "bootstrap": self.desk.bootstrap, "group": group, "topic": self.topic, "name": name, "instance": instance,
            "assignor": self._assignor, "session_ms": session_ms, "heartbeat_ms": HEARTBEAT_MS, **other,
        }
        fresh = Member(self._command, wish, self.folder / f"{name}.log")
        self._members.append(fresh)
        return fresh

    def _produce(self, prefix: str) -> set[str]:
        time.sleep(PARKED_SECONDS)
        values = {partition: [f"{prefix}-{partition}-{index}" for index in range(PER_PARTITION)] for partition in ALL}
        self.desk.produce(self.topic, values)
        return {value for those in values.values() for value in those}

    def _shared(self, one: Member, two: Member) -> None:
        wait("three partitions each", lambda: len(one.held()) == len(two.held()) == PARTITIONS // 2
             and sorted(one.held() + two.held()) == ALL and self._described(self._group_of(one)).state == "Stable",
             lambda: [one.held(), two.held(), one.trouble(), two.trouble()])

    def _group_of(self, member: Member) -> str:
        return str(member.wish["group"])

    def _joins(self) -> dict[str, Any]:
        self._first = first = self._member(self.group)
        wait("all partitions with the first", lambda: first.held() == ALL, lambda: [first.held(), first.trouble()])
        alone = self._described(self.group)
        self._second = self._member(self.group)
        self._shared(first, self._second)
        both = self._described(self.group)
        same("members", 2, len(both.members))
        return {"alone": [alone.state, alone.protocol, len(alone.members)], "both": [both.state, both.protocol, len(both.members)]}

    @staticmethod
    def _values(*members: Member) -> list[str]:
        return [value for each in members for _, value in each.records()]

    def _exactly(self, wanted: set[str], *members: Member, prefix: str) -> dict[str, Any]:
        """Every wanted record came once and no other of that batch did, each to who holds its partition."""
        wait(f"batch {prefix}", lambda: wanted <= set(self._values(*members)),
             lambda: [f"missing {len(wanted - set(self._values(*members)))}", *(each.trouble() for each in members)])
        got = [value for value in self._values(*members) if value.startswith(prefix)]
        strange = [value for each in members for partition, value in each.records()
                   if value.startswith(prefix) and partition not in each.held()]
        saw = {"missing": len(wanted - set(got)), "again": len(got) - len(set(got)), "of another's partition": len(strange)}
        same(f"batch {prefix}", {"missing": 0, "again": 0, "of another's partition": 0}, saw)
        return saw

    def _consumes(self) -> dict[str, Any]:
        saw = self._exactly(self._produce("a"), self._first, self._second, prefix="a")
        same("both got some", [BATCH // 2] * 2, [len(self._first.records()), len(self._second.records())])
        return saw

    def _committed(self) -> dict[str, Any]:
        same("committed", self.desk.ends(self.topic), self.desk.committed(self.group, self.topic))
        return {"committed": "log end"}

    def _commits(self) -> dict[str, Any]:
        self._first.commit()
        self._second.commit()
        return self._committed()

    def _crash(self) -> dict[str, Any]:
        before = self._generation(self.group)
        self._second.kill()
        took = wait("all partitions with the survivor", lambda: self._first.held() == ALL,
                    lambda: [self._first.held(), self._first.trouble()])
        same("takeover only after the session expired", True, took > (SESSION_MS - 2 * HEARTBEAT_MS) / 1000 - 0.5)
        wait("Stable", lambda: self._described(self.group).state == "Stable", lambda: self._described(self.group))
        after = self._generation(self.group)
        same("a new generation", True, after > before)
        saw = self._exactly(self._produce("b"), self._first, prefix="b")
        same("nothing of the committed batch again", BATCH // 2, len([1 for each in self._values(self._first) if each.startswith("a")]))
        self._first.commit()
        return saw | self._committed() | {"members": len(self._described(self.group).members), "a new generation": True}

    def _resumes(self) -> dict[str, Any]:
        self._first.leave()
        if self._second.alive:
            self._second.leave()
        wait("Empty", lambda: self._described(self.group).state == "Empty", lambda: self._described(self.group))
        wanted = self._produce("c")
        again = self._member(self.group)
        saw = self._exactly(wanted, again, prefix="c")
        same("only what was not committed", BATCH, len(again.records()))
        again.commit()
        again.leave()
        wait("Empty", lambda: self._described(self.group).state == "Empty", lambda: self._described(self.group))
        return saw | self._committed()

    def _static(self) -> dict[str, Any]:
        # The first leads: kafka-python joins again by itself after a restart, and a leader that joins starts a round.
        one = self._member(self._statics, "instance-1", STATIC_SESSION_MS)
        wait("all partitions with the first", lambda: one.held() == ALL, lambda: [one.held(), one.trouble()])
        two = self._member(self._statics, "instance-2", STATIC_SESSION_MS)
        self._shared(one, two)
        two, undisturbed = self._restarted(one, two)
        if not undisturbed:  # once: a rebalance that a client wanted by itself (new metadata) may have fallen into the restart
            _, undisturbed = self._restarted(one, two)
        same("restart without a rebalance, at the second attempt", True, undisturbed)
        same("members", 2, len(self._described(self._statics).members))
        return {"generations": 0, "partitions": "the same", "the other": "undisturbed"}

    def _go(self, member: Member) -> None:
        """How a static member goes whose successor is to have its place."""
        member.kill()

    def _restarted(self, one: Member, two: Member) -> tuple[Member, bool]:
        """End `two` and start it again: the new member, and whether the group stayed in its generation and `one` saw nothing."""
        before, had, told = self._generation(self._statics), two.held(), len(one.events("holds"))
        self._go(two)
        back = self._member(self._statics, "instance-2", STATIC_SESSION_MS)
        wait("the same partitions again", lambda: back.held() == had, lambda: [had, back.held(), back.trouble()])
        return back, self._generation(self._statics) == before and len(one.events("holds")) == told
