"""Repeating heartbeat answers of consumer groups without asking the core (a lease) changes neither the clients' bytes nor the journal's
rows nor the group.

Case: `every`: a sink wants every heartbeat; `steps`: ["join", who, subscription], ["beats", who, form, connection, count], ["leave", who],
["freeze", who], ["thaw", who], ["wait", ms], and of the cluster ["grow"], ["topic"], ["interval", ms], ["rule"], ["no rule"].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from found import Case, Property

from groupmock.core.groups.consumer.type import ConsumerGroup
from groupmock.rig import KeptRows, WireRig
from groupmock.rig.wire import frames_of, read_response, request
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, INCREMENTAL_ALTER_CONFIGS
from groupmock_codec.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

MEMBERS: Final = 3
CONNECTIONS: Final = 2
GROUP_RESOURCE = 32
SUBSCRIPTIONS: Final[dict[str, dict[str, Any]]] = {
    "names": {"subscribed_topic_names": ["t"]},
    "more": {"subscribed_topic_names": ["t", "u"]},
    "regex": {"subscribed_topic_names": [], "subscribed_topic_regex": "t.*"},
}
FORMS: Final = ("keep", "keep", "keep", "full", "soon", "late", "range", "uniform", "other", "old", "rejoin", "names", "more", "regex")
SETTINGS: Final = {
    "offsets.topic.num.partitions": 1, "group.consumer.session.timeout.ms": 20_000,
    "group.consumer.heartbeat.interval.ms": 5000,
    "group.consumer.assignment.interval.ms": 0, "group.consumer.regex.refresh.interval.ms": 10_000,
}  # fmt: skip


class Side:
    def __init__(self, leases: bool, every: bool) -> None:
        self.kept = KeptRows(heartbeats=every, details=every)
        self.rig = WireRig.make(settings=SETTINGS, topics={"t": 4, "u": 2}, sinks=[self.kept])
        self.rig.driver.use_leases(leases)
        self.wires = [self.rig.connect() for _ in range(MEMBERS * CONNECTIONS + 1)]
        self.ask(10, 1, {"key": "g"})  # This FindCoordinator creates the topic __consumer_offsets.
        self.rig.sleep(1)
        self.heard = b"".join(wire.data for wire in self.wires)
        self.epochs = [0] * MEMBERS
        self.partitions, self.topics, self.sent = 4, 0, 0
        self.frozen: set[int] = set()
        self.ruled = False

    def ask(self, key: int, version: int, fields: dict[str, Any]) -> Any:
        from groupmock_codec import APIS

        return self.wires[-1].ask(key, version, APIS[key].request.message(**fields))

    def join(self, who: int, what: str) -> None:
        self.epochs[who] = 0
        self._beat(who, 0, 1, "c", SUBSCRIPTIONS[what] | {"rebalance_timeout_ms": 5000, "topic_partitions": []})

    def beats(self, who: int, form: str, connection: int, count: int) -> None:
        """Send heartbeats of a member, which rejoins instead if it was refused before."""
        if not self.epochs[who]:
            self.join(who, "more" if form == "more" else "regex" if form == "regex" else "names")
            return
        self._beat(who, connection, count, "other" if form == "other" else "c", self._said(who, form))

    def _said(self, who: int, form: str) -> dict[str, Any]:
        given = {"soon": {"rebalance_timeout_ms": 4000}, "late": {"rebalance_timeout_ms": 9000}}
        if form in ("full", "old"):
            owned = [TopicPartitions(topic_id=topic, partitions=[index]) for topic, index in self._assigned(who)]
            said = {"rebalance_timeout_ms": 5000, "subscribed_topic_names": ["t"], "topic_partitions": owned}
            return said | {"member_epoch": self.epochs[who] - (form == "old")}
        if form == "rejoin":
            return SUBSCRIPTIONS["names"] | {"rebalance_timeout_ms": 5000, "topic_partitions": [], "member_epoch": 0}
        if form in ("range", "uniform"):
            return {"server_assignor": form}
        return given.get(form) or SUBSCRIPTIONS.get(form) or {}

    def _assigned(self, who: int) -> list[tuple[bytes, int]]:
        group = self.group
        member = None if group is None else group.members.get(f"M{who}")
        return [] if member is None else sorted(member.assigned)

    def _beat(self, who: int, connection: int, count: int, client: str, said: dict[str, Any]) -> None:
        fields = {"group_id": "g", "member_id": f"M{who}", "member_epoch": self.epochs[who], **said}
        wire, before = self.wires[who * CONNECTIONS + connection], self.sent
        self.sent += count
        data = [
            request(CONSUMER_GROUP_HEARTBEAT, 1, ConsumerGroupHeartbeatRequest(**fields), before + number, client)
            for number in range(count)
        ]
        wire.send(b"".join(data))
        self.rig.sleep(0)
        self.heard += wire.data
        frames, wire.data = frames_of(wire.data)
        for frame in frames:
            answer: Any
            _, answer = read_response(CONSUMER_GROUP_HEARTBEAT, 1, frame, int.from_bytes(frame[:4], "big"))
            self.epochs[who] = answer.member_epoch if not answer.error_code else 0

    def leave(self, who: int) -> None:
        self._beat(who, 0, 1, "c", {"member_epoch": -1})

    def interval(self, ms: int) -> None:
        config = AlterableConfig(name="consumer.heartbeat.interval.ms", config_operation=0, value=str(ms))
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name="g", configs=[config])
        self.wires[-1].ask(INCREMENTAL_ALTER_CONFIGS, 1, IncrementalAlterConfigsRequest(resources=[resource]))

    def freeze(self, who: int) -> None:
        group = self.group
        if group is not None and f"M{who}" in group.members and who not in self.frozen:
            self.frozen.add(who)
            self.rig.command("freeze_member", group="g", member=f"M{who}")

    def thaw(self, who: int) -> None:
        if who in self.frozen:
            self.frozen.remove(who)
            self.rig.command("thaw_member", group="g", member=f"M{who}")

    def rule(self) -> None:
        """Add a fault rule that matches only these heartbeats."""
        if not self.ruled:
            self.ruled = True
            every_other = {"api": "ConsumerGroupHeartbeat", "every": 2}
            self.rig.command("add_faults", rules=[{"name": "late", "when": every_other, "do": {"kind": "error", "code": 16}}])

    def no_rule(self) -> None:
        if self.ruled:
            self.ruled = False
            self.rig.command("remove_fault", name="late")

    def grow(self) -> None:
        self.partitions += 1
        self.rig.command("grow_topic", name="t", partitions=self.partitions)

    def topic(self) -> None:
        self.topics += 1
        self.rig.command("create_topic", name=f"t{self.topics}", partitions=1)

    @property
    def group(self) -> ConsumerGroup | None:
        found = self.rig.core.cluster.groups.find("g")
        return found if isinstance(found, ConsumerGroup) else None

    def left(self) -> Any:
        """Return all state of the group that a heartbeat may change."""
        group = self.group
        if group is None:
            return None
        deadlines = [member.session.deadline for member in group.ordered()]
        members = [msgspec.structs.astuple(msgspec.structs.replace(member, session=None)) for member in group.ordered()]
        return str(group.state), group.generation, group.assignment_epoch, members, deadlines, group.targets, group.resolved


def play(side: Side, steps: list[Any]) -> None:
    doing: dict[str, Callable[..., None]] = {
        "join": side.join, "beats": side.beats, "leave": side.leave, "wait": side.rig.sleep, "grow": side.grow, "topic": side.topic,
        "interval": side.interval, "freeze": side.freeze, "thaw": side.thaw, "rule": side.rule, "no rule": side.no_rule,
    }  # fmt: skip
    for kind, *arguments in steps:
        doing[kind](*arguments)


def _holds(case: Case) -> None:
    leased, plain = (Side(leases, case["every"]) for leases in (True, False))
    for step in case["steps"]:
        for side in (leased, plain):
            play(side, [step])
        assert leased.heard == plain.heard, step
        assert leased.left() == plain.left(), step
    assert leased.kept.rows == plain.kept.rows
    assert not leased.rig.driver.counters.internal_errors
    assert leased.rig.driver.counters.handled == plain.rig.driver.counters.handled


CONSUMER_LEASES = Property("consumer_leases", _holds)
