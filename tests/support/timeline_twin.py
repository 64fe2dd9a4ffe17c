"""Plays one scenario of a group on real Kafka behind the recording proxy and on groupmock with a virtual clock. The two pictures must be
equal except for times and ids.

Nobody sleeps: a step begins when the coordinator reports (by DescribeGroups, past the proxy) that the group is where the last step brought
it. `recorded` plays against a Kafka that was started with `SETTINGS`; `RECORDED` was made this way, and the gate draws it anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from recordings import recording, where
from tapped import TappedWire
from waiting import until

from groupmock.journal.journal import Journal
from groupmock.journal.read import read
from groupmock.record.dialogue import Dialogue, header
from groupmock.rig.ask import Ask
from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.versions import newest
from groupmock.rig.wire import Client, read_response
from groupmock.rig.wire_rig import Wire
from groupmock.rounds import OWNED
from groupmock.timeline.drawing import Drawing
from groupmock.timeline.model import OWNERSHIP, Band, Group, Lane, Stretch, Timeline
from groupmock.timeline.words import held_text
from groupmock_codec.api_keys import (
    CREATE_TOPICS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
)
from groupmock_codec.embedded import consumer
from groupmock_codec.error_codes import ILLEGAL_GENERATION, MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID
from groupmock_codec.group_states import COMPLETING_REBALANCE
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from tools.mistakes.stage import Stage

RECORDED: Final = Path(__file__).resolve().parents[1] / "data" / "record" / "shift.jsonl.gz"
"""A recording of Kafka 4.3.0 behind `groupmock record`."""
GROUP, TOPIC, PARTITIONS = "kitchen", "orders", 6
SETTINGS: Final = {"group.initial.rebalance.delay.ms": 1000, "group.min.session.timeout.ms": 100}
SHORT_MS, LONG_MS, REBALANCE_MS = 1500, 60_000, 60_000
"""Session timeouts of members that will crash and of all others, and the rebalance timeout, in ms."""
BETWEEN_MS: Final = 100
"""Milliseconds between two steps on the virtual clock."""
DESCRIBE: Final = DescribeGroupsRequest([GROUP])
DESCRIBE_VERSION: Final = newest(DESCRIBE_GROUPS, DESCRIBE, "kafka-3.9")
"""The version of DESCRIBE, which the oldest broker of these scenarios has, too."""
Place = tuple[Any, ...]
"""An entry of a timeline without its time."""


class Setting(ABC):
    """An environment in which the scenario is played, with one connection per member name."""

    @abstractmethod
    def send(self, name: str, key: int, message: Any) -> Any:
        """Send a request and return a handle for `answer`."""

    @abstractmethod
    def answer(self, sent: Any) -> Any: ...

    @abstractmethod
    def hang_up(self, name: str) -> None:
        """Close the connection as if the process had died."""

    @abstractmethod
    def wait_for(self, state: str, members: int) -> None: ...

    def ask(self, name: str, key: int, message: Any) -> Any:
        return self.answer(self.send(name, key, message))


class OnTheStage(Setting):
    """The scenario runs on groupmock's core with a virtual clock, and its rows equal those of a served cluster."""

    def __init__(self) -> None:
        self.kept = KeptRows(heartbeats=True)
        self.stage = Stage({TOPIC: PARTITIONS}, SETTINGS, [self.kept])

    def send(self, name: str, key: int, message: Any) -> Ask:
        self.stage.sleep(BETWEEN_MS)
        return self.stage.send(key, newest(key, message), message, connection=name, client_id=name)

    def answer(self, sent: Ask) -> Any:
        for _ in range(600):
            self.stage.sleep(0 if sent.answer is not None else BETWEEN_MS)
            if sent.answer is not None:
                return sent.answer
        raise AssertionError(f"no answer: {sent}")

    def hang_up(self, name: str) -> None:
        self.stage.sleep(BETWEEN_MS)
        self.stage.hang_up(name)

    def wait_for(self, state: str, members: int) -> None:
        group = None
        for _ in range(600):
            group = self.stage.ask(DESCRIBE_GROUPS, DESCRIBE_VERSION, DESCRIBE, connection="-", client_id="-").groups[0]
            if (group.group_state, len(group.members)) == (state, members):
                return
            self.stage.sleep(BETWEEN_MS)
        raise AssertionError(f"not {state} with {members}: {group}")


class Overheard(OnTheStage):
    """The scenario runs on a virtual clock with a recorder on every connection; `recorded` has the recorder's rows."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded = KeptRows(heartbeats=True)
        journal = Journal(header("overheard", self.stage.rig.clock.epoch_ns, {}), [self.recorded])
        journal.begin()
        dialogue, plug = Dialogue(journal, beats=True), self.stage.rig.plug

        def connect(node: int = 1, listener: str | None = None) -> Wire:
            return plug(TappedWire(dialogue), node, listener=listener)

        self.stage.rig.connect = connect  # type: ignore[method-assign]


class OverTheWire(Setting):
    """The scenario runs on a broker at `observed`, to which members connect through `bootstrap`."""

    def __init__(self, bootstrap: str, observed: str) -> None:
        self._members, self._clients = where(bootstrap), dict[str, Client]()
        self._observer = Client(*where(observed), "observer")

    def send(self, name: str, key: int, message: Any) -> tuple[Client, int, int, int]:
        if name not in self._clients:
            self._clients[name] = Client(*self._members, name)
        client = self._clients[name]
        version = newest(key, message)
        return client, key, version, client.send(key, version, message)

    def answer(self, sent: tuple[Client, int, int, int]) -> Any:
        client, key, version, correlation = sent
        return read_response(key, version, client.receive(), correlation)[1]

    def hang_up(self, name: str) -> None:
        self._clients.pop(name).close()

    def wait_for(self, state: str, members: int) -> None:
        seen: list[Any] = []

        def there() -> bool:
            seen[:] = self._observer.ask(DESCRIBE_GROUPS, DESCRIBE_VERSION, DESCRIBE).groups
            return (seen[0].group_state, len(seen[0].members)) == (state, members)

        until(f"{state} with {members}", there, lambda: seen)

    def close(self) -> None:
        for client in [*self._clients.values(), self._observer]:
            client.close()


class Cook(ClassicMember):
    """A member that takes one action at a time."""

    def __init__(self, setting: Setting, name: str, session_ms: int = LONG_MS, instance: str | None = None) -> None:
        super().__init__(GROUP, topics=[TOPIC], instance_id=instance, session_ms=session_ms, rebalance_ms=REBALANCE_MS)
        self.setting, self.name = setting, name
        self._sent: Any = None

    def joins(self) -> None:
        """Send a JoinGroup, whose answer the coordinator may delay. A member without an id first gets one (KIP-394)."""
        self._sent = self.setting.send(self.name, JOIN_GROUP, self.join_request())
        if not self.member_id and self.instance_id is None:
            assert self.joined(self.setting.answer(self._sent)) == MEMBER_ID_REQUIRED
            self._sent = self.setting.send(self.name, JOIN_GROUP, self.join_request())

    def is_in(self) -> None:
        assert self.joined(self.setting.answer(self._sent)) == 0

    def syncs(self, plan: dict[str, list[int]] | None = None) -> None:
        """Send the SyncGroup of this member. The leader's `plan` maps a member id to its partitions."""
        request = self.sync_request({member: _assignment(numbers) for member, numbers in (plan or {}).items()})
        assert self.setting.ask(self.name, SYNC_GROUP, request).error_code == 0

    def beats(self) -> int:
        return int(self.setting.ask(self.name, HEARTBEAT, self.heartbeat_request()).error_code)

    def commits(self, partition: int, offset: int, generation: int | None = None) -> int:
        answer = self.setting.ask(self.name, OFFSET_COMMIT, self.commit_request({(TOPIC, partition): offset}, generation))
        return int(answer.topics[0].partitions[0].error_code)

    def leaves(self) -> None:
        """Send LeaveGroup with a reason (KIP-800)."""
        assert self.setting.ask(self.name, LEAVE_GROUP, self.leave_request("the shift is over")).error_code == 0
        self.dies()

    def dies(self) -> None:
        """Close the connection without sending a LeaveGroup."""
        self.setting.hang_up(self.name)
        self.forget()


def _assignment(numbers: list[int]) -> bytes:
    return consumer.encode_assignment(consumer.Assignment(0, [consumer.TopicPartitions(TOPIC, numbers)]))


def together(cooks: Sequence[Cook]) -> None:
    """Complete a rebalance: all JoinGroups are answered, the leader assigns the partitions, and all members sync. The leader is first,
    so that the order is fixed."""
    for each in cooks:
        each.is_in()
    (leader,) = [each for each in cooks if each.leads]
    plan = {each.member_id: list(range(place, PARTITIONS, len(cooks))) for place, each in enumerate(cooks)}
    leader.syncs(plan)
    for each in cooks:
        if each is not leader:
            each.syncs()


def shift(setting: Setting) -> None:
    """Play the scenario: three members join, one leaves, one crashes and returns, a static member is replaced, one commits too late, all
    leave."""
    anna, ben, cleo = Cook(setting, "anna"), Cook(setting, "ben"), Cook(setting, "cleo", SHORT_MS)
    for number, each in enumerate((anna, ben, cleo), 1):
        each.joins()
        setting.wait_for("PreparingRebalance", number)
    together((anna, ben, cleo))
    assert anna.commits(0, 7) == 0
    assert ben.beats() == 0
    ben.leaves()
    setting.wait_for("PreparingRebalance", 2)
    _again(anna, cleo)
    assert anna.commits(0, 8, generation=1) == ILLEGAL_GENERATION
    cleo.dies()
    setting.wait_for("PreparingRebalance", 1)
    _again(anna)
    cleo.session_ms = LONG_MS
    cleo.joins()
    setting.wait_for("PreparingRebalance", 2)
    _again(anna, waiting=(cleo,))
    _static(setting, anna, cleo)


def _static(setting: Setting, anna: Cook, cleo: Cook) -> None:
    """Replace the process of the static member dora, which starts no rebalance (KIP-345, KIP-814)."""
    dora = Cook(setting, "dora", instance="dora-1")
    dora.joins()
    setting.wait_for("PreparingRebalance", 3)
    _again(anna, cleo, waiting=(dora,))
    dora.dies()
    dora.joins()
    dora.is_in()
    dora.syncs()
    assert dora.beats() == 0
    for left, each in enumerate((dora, cleo, anna)):
        each.leaves()
        setting.wait_for("PreparingRebalance" if left < 2 else "Empty", 2 - left)


def _again(*cooks: Cook, waiting: Sequence[Cook] = ()) -> None:
    for each in cooks:
        assert each.beats() == REBALANCE_IN_PROGRESS
        each.joins()
    together([*cooks, *waiting])


# -- The pictures


def here() -> Timeline:
    """Draw the timeline of the scenario on the virtual clock."""
    setting = OnTheStage()
    shift(setting)
    return drawn(setting.kept.rows)


def drawn(rows: Sequence[Any]) -> Timeline:
    """Draw a timeline of the given journal rows."""
    drawing = Drawing(GROUP)
    drawing.add("twin", list(rows))
    return drawing.timeline()


def of_kafka(journal: Path = RECORDED) -> Timeline:
    """Draw a timeline of a journal that the recording proxy wrote."""
    return drawn(read(journal)[1])


def recorded(bootstrap: str, journal: Path) -> None:
    with Client(*where(bootstrap)) as admin:
        prepare(admin)
    with recording(bootstrap, journal) as proxy:
        setting = OverTheWire(proxy.bootstrap, bootstrap)
        try:
            shift(setting)
        finally:
            setting.close()


def prepare(admin: Client) -> None:
    """Create the topic and wait until the group's coordinator has loaded."""
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    made = admin.ask(CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    assert made.topics[0].error_code == 0, made
    seen: list[Any] = []

    def loaded() -> bool:
        seen[:] = admin.ask(FIND_COORDINATOR, 4, FindCoordinatorRequest(coordinator_keys=[GROUP])).coordinators
        found = not seen[0].error_code
        seen[1:] = [admin.ask(HEARTBEAT, 4, HeartbeatRequest(group_id=GROUP))]
        return found and seen[1].error_code == UNKNOWN_MEMBER_ID

    until("a coordinator", loaded, lambda: seen)


def without_times(timeline: Timeline) -> dict[str, list[Place]]:
    """Return the entries of a timeline in order and without times, each with the rebalance or Stable phase in which it begins and ends.

    A member's name is its client id with the number of earlier members of that id.
    """
    (group,) = timeline.groups
    names = _names(group)
    first = min(each.since for each in group.owners if OWNERSHIP[each.state] == OWNED)
    found: dict[str, list[Place]] = {
        "states": [(each.state, each.generation, each.members) for each in group.states],
        "rebalances": [
            (each.ended_in, each.generation_before, each.generation_after, each.members, names.get(each.leader), each.moves)
            for each in group.rounds
        ],
        "generations": [
            (each.number, names.get(each.leader), each.protocol, each.members, each.planned is not None, each.heard)
            for each in group.generations
        ],
        "owners": [
            (OWNERSHIP[each.state], *(group.processes[one] for one in each.processes), *_span(timeline, group, each))
            for each in group.owners
            # A recording does not show when the leader's first assignment was accepted, from when on partitions want an owner.
            if each.since > first or OWNERSHIP[each.state] == OWNED
        ],
    }
    for lane in group.lanes:
        name = names[lane.label]
        found[f"{name}: stays"] = [(each.until is None, each.cause) for each in lane.lives]
        found[f"{name}: owns"] = [_span(timeline, group, each) for each in lane.bands]
        found[f"{name}: asks"] = [(timeline.apis[each.api], timeline.texts[each.result], each.count) for each in lane.marks]
        found[f"{name}: befalls"] = [(each.kind, each.title) for each in lane.events]
        found[f"{name}: is"] = [(lane.client_id, lane.instance)]
    return found


def _names(group: Group) -> dict[str, str]:
    seen: dict[str, list[Lane]] = {}
    names = {}
    for lane in group.lanes:
        before = seen.setdefault(lane.client_id, [])
        names[lane.label] = f"{lane.client_id}.{len(before)}"
        before.append(lane)
    return names


def _span(timeline: Timeline, group: Group, span: Band | Stretch) -> Place:
    return held_text(timeline, span.held), _stay(group, span.since), None if span.until is None else _stay(group, span.until)


def _stay(group: Group, at: int) -> int:
    """Count the phases of a group up to a time. Join and sync phase count as one, because the wire does not show the time between them."""
    return sum(each.since <= at for each in group.states if each.state != COMPLETING_REBALANCE)


def differences(one: dict[str, list[Place]], other: dict[str, list[Place]]) -> list[str]:
    """Return the differences as sentences, or an empty list for equal timelines."""
    return [f"{line}:\n  {one.get(line)}\n  {other.get(line)}" for line in {**one, **other} if one.get(line) != other.get(line)]
