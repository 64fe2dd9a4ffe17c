"""The checks of a Kafka Streams application with `group.protocol=streams` (KIP-1071): two and three instances with standby tasks, a crash,
growth from one instance to three, a rolling restart."""

from __future__ import annotations

from typing import Any

from .member import Member
from .streams import PARTITIONS, SECONDS, TASKS, StreamsRow
from .telling import wait
from .wire import Described

STATEFUL = {f"1_{partition}" for partition in range(PARTITIONS)}
"""The tasks with a changelog, each of which has one standby task as soon as there are two instances."""
ROUNDS = 5
"""Rounds of records at each stage."""


class StreamsGroupRow(StreamsRow):
    """The application on one broker."""

    PROTOCOL = "streams"
    _team: tuple[Member, ...] = ()

    def _prepare(self) -> None:
        self.desk.configure_group(self.app, "streams.num.standby.replicas", "1")

    def _grows(self, after: str) -> str:
        self.check("scales", self._scales, after=after)
        self.check("bounced", self._bounced, after="scales")
        return "bounced"

    def _ends(self) -> None:
        """Check nothing more: static members of this protocol are not compared yet."""

    def _described(self) -> Described:
        return self.desk.describe_streams(self.app)

    @staticmethod
    def _standbys(member: Member) -> set[str]:
        return set(member.last("tasks", "standbys", []))

    def _running(self, what: str, *members: Member) -> None:
        """All are RUNNING, every task is held once, and every stateful task has a standby task in another instance, if there is one."""
        super()._running(what, *members)
        wanted = sorted(STATEFUL) if len(members) > 1 else []

        def seen() -> list[object]:
            return [[sorted(self._tasks(each)), sorted(self._standbys(each))] for each in members]

        wait(f"{what}, and the standby tasks", lambda: sorted(task for each in members for task in self._standbys(each)) == wanted
             and not any(self._tasks(each) & self._standbys(each) for each in members)
             and sorted(task for each in members for task in self._tasks(each)) == sorted(TASKS), seen, SECONDS)

    def _sizes(self, *members: Member) -> list[list[int]]:
        """How many tasks and standby tasks each has, without regard to who has more: ids are random."""
        return sorted([len(self._tasks(each)), len(self._standbys(each))] for each in members)

    def _joins(self) -> dict[str, Any]:
        return super()._joins() | {"roles": self._sizes(self._first, self._second)}

    def _scales(self) -> dict[str, Any]:
        """One instance becomes three, one after the other, while records come."""
        grown, saw = [self._first], []
        for count in (2, 3):
            self._produce(ROUNDS)
            grown.append(self._instance())
            self._produce(ROUNDS)
            self._running(f"the tasks shared by {count}", *grown)
            saw.append(self._sizes(*grown))
        self._team = tuple(grown)
        return self._counted() | {"roles": saw, "members": len(self._described().members)}

    def _bounced(self) -> dict[str, Any]:
        """Each of three instances is closed and started again with its state, while records come. The others have all of its tasks
        meanwhile."""
        saw = []
        for place in range(len(self._team)):
            member, others = self._team[place], self._team[:place] + self._team[place + 1 :]
            self._produce(ROUNDS)
            member.leave()
            self._running(f"every task without instance {place}", *others)
            self._produce(ROUNDS)
            self._team = (*self._team[:place], self._instance(of=member), *self._team[place + 1 :])
            self._running(f"the tasks shared with instance {place}", *self._team)
            saw.append([self._sizes(*others), self._sizes(*self._team)])
        self._first, self._second = self._team[:2]
        self._produce(ROUNDS)
        return self._counted() | {"roles": saw, "members": len(self._described().members)}

    def _resumes(self) -> dict[str, Any]:
        """The third instance leaves first. An instance deletes what it has read of the repartition topic only after it has read more of it,
        so that records come before that is looked at."""
        if self._team:
            self._team[2].leave()
            self._running("the tasks shared by two of three", *self._team[:2])
            self._produce(ROUNDS)
            self._counted()
        return super()._resumes()
