"""The checks of a Kafka Streams application with `group.protocol=streams` (KIP-1071): two and three instances with standby tasks, crashes,
growth from one instance to three, a rolling restart, static instances."""

from __future__ import annotations

import json
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from .member import Member
from .streams import PARTITIONS, SECONDS, TASKS, StreamsRow
from .telling import PATIENCE, same, wait
from .wire import Described

STATEFUL = {f"1_{partition}" for partition in range(PARTITIONS)}
"""The tasks with a changelog, each of which has one standby task as soon as there are two instances."""
ROUNDS = 5
"""Rounds of records at each stage."""
SESSION_MS = min(int(PATIENCE * 1000), 60_000)
"""The session of static instances. A Java virtual machine must be back before, and Kafka allows no more than a minute."""
PROCESS_FILE = "kafka-streams-process-metadata"
"""The file in an application's state directory that has the process id of an instance."""
REFUSED = "UnreleasedInstanceIdException"
"""The error of an instance whose group.instance.id is still that of another one, from which Kafka Streams does not recover."""


class StreamsGroupRow(StreamsRow):
    """The application on one broker."""

    PROTOCOL = "streams"
    _team: tuple[Member, ...] = ()

    @property
    def _slow(self) -> bool:
        return True

    def _prepare(self) -> None:
        self.desk.configure_group(self.app, "streams.num.standby.replicas", "1")

    def _grows(self, after: str) -> str:
        self.check("scales", self._scales, after=after)
        self.check("dies", self._dies, after="scales")
        self.check("bounced", self._bounced, after="dies")
        return "bounced"

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

    def _prepare_folder(self, name: str) -> None:
        """The process id, which decides on targets, is the same on every broker."""
        state = self.folder / name / self.app
        state.mkdir(parents=True)
        (state / PROCESS_FILE).write_text(json.dumps({"processId": str(uuid5(NAMESPACE_OID, name))}))

    def _shares(self, *members: Member) -> dict[str, int]:
        """How many tasks each has. After three instances, which ones they are depends on their member ids, which are random."""
        return {each.name: len(self._tasks(each)) for each in members}

    def _joins(self) -> dict[str, Any]:
        saw = super()._joins()
        return saw | {"roles": [[sorted(self._tasks(each)), sorted(self._standbys(each))] for each in (self._first, self._second)]}

    def _scales(self) -> dict[str, Any]:
        """One instance becomes three, one after the other, while records come."""
        grown, saw = [self._first], []
        for count in (2, 3):
            self._produce(ROUNDS)
            grown.append(self._instance())
            self._produce(ROUNDS)
            self._running(f"the tasks shared by {count}", *grown)
            saw.append([sorted(self._tasks(each)) for each in grown])
        self._team = tuple(grown)
        return self._counted() | {"tasks": saw, "members": len(self._described().members)}

    def _without(self, place: int) -> tuple[Member, ...]:
        return self._team[:place] + self._team[place + 1 :]

    def _again(self, place: int) -> dict[str, int]:
        """Start that instance again with its state; what all have then."""
        self._team = (*self._team[:place], self._instance(of=self._team[place]), *self._team[place + 1 :])
        self._running(f"the tasks shared with instance {place}", *self._team)
        return self._shares(*self._team)

    def _dies(self) -> dict[str, Any]:
        """One of three instances is killed amid its work. The two others have all of its tasks, and it comes back."""
        self._kill_amid_work(self._team[2])
        self._running("every task without the killed one", *self._team[:2])
        saw = [self._shares(*self._team[:2]), self._again(2)]
        return self._recovered() | {"shares": saw, "members": len(self._described().members)}

    def _bounced(self) -> dict[str, Any]:
        """Each of three instances is closed and started again with its state, while records come. The others have all of its tasks
        meanwhile."""
        saw = []
        for place in range(len(self._team)):
            self._produce(ROUNDS)
            self._team[place].leave()
            others = self._without(place)
            self._running(f"every task without instance {place}", *others)
            meanwhile = self._shares(*others)
            self._produce(ROUNDS)
            saw.append([meanwhile, self._again(place)])
        self._first, self._second = self._team[:2]
        self._produce(ROUNDS)
        return self._counted() | {"shares": saw, "members": len(self._described().members)}

    def _resumes(self) -> dict[str, Any]:
        """The third instance leaves first. An instance deletes what it has read of the repartition topic only after it has read more of it,
        so that records come before that is looked at."""
        saw: dict[str, Any] = {}
        if self._team:
            self._produce(ROUNDS)
            self._team[2].leave()
            self._running("the tasks shared by two of three", *self._team[:2])
            saw = {"shares": self._shares(*self._team[:2]), "members": len(self._described().members)}
            self._produce(ROUNDS)
            self._counted()
        return super()._resumes() | saw

    def _static(self) -> dict[str, Any]:
        """Another application, whose instances have group.instance.id: one is closed and comes back, is killed, leaves for good."""
        for each in self._members:
            each.kill()
        self._open(f"{self.app}-static")
        self.desk.configure_group(self.app, "streams.session.timeout.ms", str(SESSION_MS))
        one, two = self._instance(instance="one"), self._instance(instance="two")
        self._running("the tasks shared by two static instances", one, two)
        self._produce(ROUNDS)
        self._counted()
        away, back = self._closed(one, two)
        return {"closed": away, "killed": self._killed(one, back), "left": self._left(one, back)} | self._counted()

    def _statics(self, since: int) -> dict[str, Any]:
        """The group as the broker describes it, with epochs as steps from the group epoch `since`."""
        now = self._described()
        statics = [[instance, epoch if epoch < 0 else epoch - since] for instance, epoch in now.statics]
        return {"state": now.state, "epoch": now.epoch - since, "members": len(now.members), "statics": statics}

    def _calm(self, since: int) -> dict[str, Any]:
        """The same, once every member has the epoch of the group."""
        wait("Stable", lambda: self._described().state == "Stable", self._described)
        return self._statics(since)

    def _closed(self, one: Member, two: Member) -> tuple[dict[str, Any], Member]:
        """`two` is closed, as close() is by default, and is back within its session, as the member that is returned. The other one goes on
        with its own tasks, gets no others and sees nothing of it."""
        self._all_committed()
        epoch, had, told = self._described().epoch, (self._tasks(two), self._standbys(two)), len(one.events("tasks"))
        before = self.desk.committed(self.app, self.topic)
        two.close()
        away = self._statics(epoch)
        self._produce(ROUNDS)
        self._read_only_by(one, before)
        same("the group while the instance is away", away, self._statics(epoch))
        back = self._instance(of=two)
        self._running("every task with the two again", one, back)
        same("the tasks of the instance that came back", had, (self._tasks(back), self._standbys(back)))
        same("changes that the other instance saw", 0, len(one.events("tasks")) - told)
        self._counted()
        self._all_committed()
        return {"away": away, "back": self._calm(epoch)}, back

    def _read_only_by(self, one: Member, before: dict[int, int]) -> None:
        """Wait until `one` has read its partitions of the source up to the ends; the others are where they were."""
        ends = self.desk.ends(self.topic)
        wanted = {place: ends[place] if f"0_{place}" in self._tasks(one) else before[place] for place in ends}
        wait("offsets of the partitions of the one instance alone", lambda: self.desk.committed(self.app, self.topic) == wanted,
             lambda: [wanted, self.desk.committed(self.app, self.topic)])

    def _killed(self, one: Member, two: Member) -> dict[str, Any]:
        """Until the session of the killed `two` ends, nobody gets its tasks, and who comes with its group.instance.id is refused."""
        epoch, told = self._described().epoch, len(one.events("tasks"))
        two.kill()
        refused = self._instance(of=two)
        wait("a second owner of the name to be refused", lambda: refused.last("state", "state", "") == "ERROR", refused.trouble, SECONDS)
        same("changes that the other instance saw", 0, len(one.events("tasks")) - told)
        meanwhile = self._statics(epoch)
        same("why it was refused", True, REFUSED in refused.log.read_text(errors="replace"))
        refused.kill()
        self._running("every task with the survivor", one)
        self._produce(ROUNDS)
        self._counted()
        return {"meanwhile": meanwhile, "refused": REFUSED, "after its session": self._calm(epoch)}

    def _left(self, one: Member, two: Member) -> dict[str, Any]:
        """`two` comes again after its session, and leaves for good: the other one has all of its tasks at once."""
        two = self._instance(of=two)
        self._running("the tasks shared by two static instances again", one, two)
        epoch = self._described().epoch
        two.leave()
        same("members after one left for good", 1, len(self._described().members))
        self._running("every task with the one that stays", one)
        self._produce(ROUNDS)
        return self._calm(epoch)
