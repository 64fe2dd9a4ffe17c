"""The checks of a client with `group.protocol=consumer` (KIP-848): those of every client, a subscription by expression, and the way there
and back: members of a classic group are replaced one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .groups import ALL, NOTHING, PARTITIONS, SESSION_MS, GroupRow
from .member import Member
from .telling import same, wait
from .wire import Described

CLASSIC, CONSUMER = {"protocol": "classic", "assignor": "range"}, {"protocol": "consumer", "assignor": "uniform"}
LONG_SESSION_MS = "45000"  # a static member is back long before
ROLLING = ((0, CONSUMER), (1, CONSUMER), (0, CLASSIC), (1, CLASSIC))
"""Which of two members is replaced, and by what."""


class ConsumerRow(GroupRow):
    """One client on one broker. Sessions are the broker's: stages.CONSUMERS."""

    def _checks(self, static: bool, short: bool) -> None:
        super()._checks(static, short)
        self.check("regex", self._regex)
        self.check("upgrade", self._upgrade)

    def _described(self, group: str) -> Described:
        """Of either type: an upgrade changes it."""
        return self.desk.describe_consumers(group) or self.desk.describe(group)

    def _generation(self, group: str) -> int:
        return self._described(group).epoch

    def _member(self, group: str, instance: str | None = None, session_ms: int = SESSION_MS, other: Mapping[str, str] = NOTHING) -> Member:
        return super()._member(group, instance, session_ms, {"protocol": "consumer", **other})

    def _go(self, member: Member) -> None:
        """It leaves with epoch -2: a killed one's place is taken for as long as its session lasts (docs/kafka/consumer-groups.md#cg-90)."""
        member.leave()

    def _static(self) -> dict[str, Any]:
        """Besides: who comes in the place of a killed one, while that one's session lasts, is refused for good."""
        self.desk.configure_group(self._statics, "consumer.session.timeout.ms", LONG_SESSION_MS)
        saw = super()._static()
        self._members[-1].kill()
        early = self._member(self._statics, "instance-2")
        wait("the successor of a killed member to end", lambda: early.ended_by_itself, early.trouble)
        same("it says why", True, any("instance" in each.lower() for each in early.complaints()))
        return saw | {"successor of the killed": "refused"}

    def _regex(self) -> dict[str, Any]:
        """One topic at first; of another one that comes later everything is read too."""
        topics = [f"{self.topic}-re-{each}" for each in "ab"]
        self.desk.create_topic(topics[0], PARTITIONS)
        reader = self._member(f"{self.group}-regex", other={"pattern": f"^{self.topic}-re-.*"})
        wait("the topic that is there", lambda: reader.held() == ALL, reader.trouble)
        self.desk.create_topic(topics[1], PARTITIONS)
        wait("the topic that came", lambda: reader.held() == sorted(ALL + ALL), lambda: [reader.held(), reader.trouble()])
        for topic in topics:
            self.desk.produce(topic, {each: [f"{topic}-{each}"] for each in ALL})
        wanted = {f"{topic}-{each}" for topic in topics for each in ALL}
        wait("a record of each partition", lambda: wanted == set(self._values(reader)), lambda: [self._values(reader), reader.trouble()])
        return {"topics": 2, "records": len(reader.records())}

    def _upgrade(self) -> dict[str, Any]:
        """At each step records come before, amid and after; at the end every one was read by somebody and is committed."""
        group = f"{self.group}-rolling"
        team, wanted = [self._member(group, other=CLASSIC) for _ in range(2)], set[str]()
        everybody = list(team)
        stages = [self._stage(group, team, wanted, everybody, "r0")]
        for number, (index, protocol) in enumerate(ROLLING, 1):
            wanted |= self._produce(f"r{number}-before")
            team[index].commit()
            team[index].leave()
            wanted |= self._produce(f"r{number}-amid")
            team[index] = self._member(group, other=protocol)
            everybody.append(team[index])
            stages.append(self._stage(group, team, wanted, everybody, f"r{number}-after"))
        return {"stages": stages, "lost": 0}

    def _stage(self, group: str, team: list[Member], wanted: set[str], everybody: list[Member], prefix: str) -> list[Any]:
        """What the group is when both have their part again, all was read, and both committed."""
        self._shared(*team)
        wanted |= self._produce(prefix)
        wait("every record", lambda: wanted <= set(self._values(*everybody)),
             lambda: [f"missing {sorted(wanted - set(self._values(*everybody)))[:5]}", *(each.trouble() for each in team)])
        for each in team:
            each.commit()
        same("committed", self.desk.ends(self.topic), self.desk.committed(group, self.topic))
        found = self._described(group)
        return [found.state, found.protocol, list(found.kinds)]
