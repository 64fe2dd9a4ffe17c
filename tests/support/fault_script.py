"""Runs scripted members under random fault rules and commands, on a virtual clock and without sockets. The seed decides everything."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, ClassVar, Final

from groupmock.core.core import core_of
from groupmock.core.events import Command
from groupmock.core.identity import Identity, Node
from groupmock.core.settings import Settings
from groupmock.faults.plan import BadPlan
from groupmock.journal.file import FileSink
from groupmock.net.clock import VirtualClock
from groupmock.rig import Wire, WireRig
from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.consumer_member import ConsumerMember
from groupmock.rig.versions import every_version, newest
from groupmock.rig.wire import Unreadable
from groupmock.rig.wire_rig import rig_header
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID
from groupmock_codec.messages.k68_consumer_group_heartbeat import TopicPartitions
from groupmock_codec.units import NS_PER_MS

GROUP: Final = "g"
CONSUMER_GROUP: Final = "cg"
MEMBERS: Final = 4
CONSUMERS: Final = 2
CONSUMERS_TOPIC: Final = "U"
STEPS: Final = 30
IDENTITY: Final = Identity(
    "script",
    tuple(Node(number, "127.0.0.1", 9091 + number) for number in (1, 2)),
    every_version((1, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 22, 24, 68)),
)


class Scripted(ClassicMember):
    """A classic member that joins, syncs, heartbeats, commits and leaves, and reconnects after an unreadable answer."""

    def __init__(self, run: Run, number: int) -> None:
        self.run, self.name = run, f"m{number}"
        super().__init__(GROUP, instance_id=self.name if number == 0 else None, session_ms=6000, rebalance_ms=4000)
        self.wants = JOIN_GROUP
        self.wire = run.connect()

    def hang_up(self) -> None:
        self.wire.hang_up()
        self.wire = self.run.connect()

    def act(self, dice: Random) -> None:
        """Read the answers and then possibly send a request."""
        self._read()
        if self.wire.closed:
            self.hang_up()
        elif self.wire.side.pending:
            if dice.random() < 0.05:
                self.hang_up()
        elif dice.random() < 0.8:
            self._send(dice)

    def _read(self) -> None:
        data, self.wire.data = self.wire.data, b""
        try:
            for asked, frame in self.wire.side.receive(data):
                if asked is None:
                    raise Unreadable("nothing was asked")
                self._told(asked.key, asked.read(frame)[1])
        except (Unreadable, IndexError):
            self.hang_up()

    def _told(self, key: int, answer: Any) -> None:
        error = answer.topics[0].partitions[0].error_code if key == OFFSET_COMMIT else answer.error_code
        if key == JOIN_GROUP:
            self.joined(answer)
        if error in (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID):
            self.member_id, self.wants = "", JOIN_GROUP
        elif error:
            self.wants = JOIN_GROUP
        elif key == JOIN_GROUP:
            self.wants = SYNC_GROUP
        elif key == SYNC_GROUP:
            self.wants = HEARTBEAT
        elif key == LEAVE_GROUP:
            self.member_id, self.wants = "", JOIN_GROUP

    def _send(self, dice: Random) -> None:
        key = self.wants
        if key == HEARTBEAT and (drawn := dice.random()) < 0.4:
            key = LEAVE_GROUP if drawn < 0.04 else JOIN_GROUP if drawn < 0.1 else OFFSET_COMMIT
        self._ask(key, self._message(key))

    def _ask(self, key: int, message: Message) -> None:
        self.wire.side.client_id = self.name
        self.wire.send(self.wire.side.ask(key, newest(key, message), message))

    def _message(self, key: int) -> Message:
        if key == JOIN_GROUP:
            return self.join_request()
        if key == LEAVE_GROUP:
            return self.leave_request()
        if key == OFFSET_COMMIT:
            return self.commit_request({("T", number): self.wire.side.correlation for number in (0, 1)})
        return self.heartbeat_request() if key == HEARTBEAT else self.sync_request({each.member_id: b"\0\0" for each in self.members})


class Consumer(Scripted):
    """A consumer group member that joins, reports changed partitions, sends heartbeats, and sometimes leaves."""

    def __init__(self, run: Run, number: int) -> None:
        super().__init__(run, number)
        self.name = f"c{number}"
        self.consumer = ConsumerMember(CONSUMER_GROUP, self.name, topics=[CONSUMERS_TOPIC], rebalance_ms=4000)
        self.owned: list[TopicPartitions] | None = None

    def _told(self, key: int, answer: Any) -> None:
        if answer.error_code == 16:
            self.hang_up()
        elif answer.error_code in (25, 110) or answer.member_epoch < 0:
            self.consumer.forget()
            self.owned = None
        elif not self.consumer.told(answer):
            self.owned = None if answer.assignment is None else list(answer.assignment.topic_partitions)

    def _send(self, dice: Random) -> None:
        leaves = self.consumer.epoch and dice.random() < 0.04
        self._ask(CONSUMER_GROUP_HEARTBEAT, self.consumer.leave_request() if leaves else self.consumer.heartbeat_request(self.owned))


class Run:
    """One run of the script on a cluster. `leases` allows repeated heartbeats; `chaos` adds random rules and commands."""

    settings: ClassVar[dict[str, Any]] = {}
    """Settings of the core besides those of every run."""

    def __init__(self, seed: int, path: Path, leases: bool = True, chaos: bool = True) -> None:
        self.script = Random(f"script {seed}")
        self.chaos = chaos
        self.clock = VirtualClock()
        settings = Settings(
            group_initial_rebalance_delay_ms=50, group_consumer_session_timeout_ms=5000, group_consumer_heartbeat_interval_ms=300,
            **self.settings,
        )  # fmt: skip
        core = core_of(settings, IDENTITY, Random(seed), self.clock.epoch_ns // NS_PER_MS)
        sink = FileSink(str(path), self._failed)
        self.rig = WireRig(core, clock=self.clock, sinks=[sink], header=rig_header(self.clock, seed))
        self.driver = self.rig.driver
        self.driver.use_leases(leases)
        self.wires: list[Wire] = []
        self.commands = 0

    def connect(self) -> Wire:
        self.wires.append(self.rig.connect(self.script.choice((1, 1, 2))))
        return self.wires[-1]

    def play(self) -> None:
        """Let the members act in turn, with random faults and commands, while the clock advances."""
        dice = self.script
        self.driver.submit(Command("create_topic", {"name": "T", "partitions": 1}))
        self.driver.submit(Command("create_topic", {"name": CONSUMERS_TOPIC, "partitions": 4}))
        members = [*(Scripted(self, number) for number in range(MEMBERS)), *(Consumer(self, number) for number in range(CONSUMERS))]
        for _ in range(STEPS):
            if self.chaos and dice.random() < 0.25:
                self._break(dice)
            for member in members:
                member.act(dice)
            self.clock.advance(dice.choice((0, 10, 60, 300, 300, 3000)))
        self.rig.close()

    def _break(self, dice: Random) -> None:
        name, arguments = dice.choice(MAKERS)(dice, self)
        try:
            self.driver.submit(Command(name, arguments))
            self.commands += 1
        except (ValueError, LookupError) as refusal:
            assert not isinstance(refusal, BadPlan) or "cannot" in str(refusal) or "names no" in str(refusal), refusal

    def _failed(self, reason: str) -> None:
        raise AssertionError(reason)


def random_rule(dice: Random) -> dict[str, Any]:
    """Draw a fault rule of any kind whose conditions can occur in a run."""
    do, stage = dice.choice(DOINGS)
    rule: dict[str, Any] = {"do": dict(do), "stage": stage}
    when: dict[str, Any] = {}
    if stage != "connect":
        when["api"] = dice.choice(("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup", "ConsumerGroupHeartbeat"))
        when["version"] = {"LeaveGroup": "2-", "ConsumerGroupHeartbeat": "0-"}.get(when["api"], "3-")
        of_consumers = when["api"] == "ConsumerGroupHeartbeat"
        if dice.random() < 0.3:
            when["client_id"] = f"c{dice.randrange(CONSUMERS)}" if of_consumers else f"m{dice.randrange(MEMBERS)}"
        if dice.random() < 0.2:
            key, said = ("progress", ("stable", "un*")) if of_consumers else ("role", ("leader", "follower"))
            when[key] = dice.choice(said)
        if "level" in do:
            when |= {"api": "OffsetCommit", "partition": dice.randrange(2)}
    chance = dice.random()
    if chance < 0.3:
        when["nth"] = dice.randrange(1, 4)
    elif chance < 0.5:
        when["every"] = dice.randrange(1, 4)
    elif chance < 0.8:
        when["probability"] = 0.5
    if "nth" not in when:
        rule["times"] = dice.randrange(1, 4)
    return rule | {"when": when}


DOINGS: Final[list[tuple[dict[str, Any], str]]] = [
    ({"kind": "error", "code": "REBALANCE_IN_PROGRESS"}, "request"),
    ({"kind": "error", "code": "NOT_COORDINATOR"}, "reply"),
    ({"kind": "error", "code": "INVALID_COMMIT_OFFSET_SIZE", "level": "partition"}, "request"),
    ({"kind": "error", "code": "INVALID_COMMIT_OFFSET_SIZE", "level": "partition"}, "reply"),
    ({"kind": "leave_out", "level": "partition"}, "reply"),
    ({"kind": "observe"}, "request"),
    ({"kind": "delay", "seconds": 0.4}, "request"),
    ({"kind": "delay", "seconds": 0.4}, "reply"),
    ({"kind": "hold"}, "request"),
    ({"kind": "hold"}, "reply"),
    ({"kind": "drop"}, "request"),
    ({"kind": "drop"}, "reply"),
    ({"kind": "swallow"}, "reply"),
    ({"kind": "close"}, "request"),
    ({"kind": "close"}, "reply"),
    ({"kind": "close"}, "connect"),
    ({"kind": "reset"}, "request"),
    ({"kind": "reset"}, "reply"),
    ({"kind": "refuse"}, "connect"),
    ({"kind": "refuse"}, "connect"),
    ({"kind": "truncate", "at": 7}, "reply"),
    ({"kind": "truncate", "at": 7, "close": False}, "reply"),
    ({"kind": "split", "pieces": 3, "seconds": 0.05}, "reply"),
    ({"kind": "split", "pieces": 2, "seconds": 0.05}, "reply"),
    ({"kind": "garble", "bytes": 2}, "reply"),
    ({"kind": "wrong_correlation_id"}, "reply"),
    ({"kind": "duplicate"}, "reply"),
    ({"kind": "throttle_time", "seconds": 0.2}, "reply"),
    ({"kind": "freeze_member", "seconds": 0.7}, "request"),
    ({"kind": "expire_member"}, "request"),
    ({"kind": "fence_instance"}, "request"),
    ({"kind": "fence_member"}, "request"),
    ({"kind": "force_rebalance"}, "request"),
    ({"kind": "set_generation"}, "request"),
    ({"kind": "move_coordinator", "loading_seconds": 0.1}, "request"),
    ({"kind": "jump_timer", "timer": "session"}, "request"),
    ({"kind": "stall_node", "seconds": 0.3}, "request"),
    ({"kind": "observe"}, "request"),
]


def _a_name(dice: Random, run: Run) -> str:
    names = [report.name for report in run.driver.rules.reports()]
    return dice.choice(names) if names else "none"


MAKERS: Final[list[Any]] = [
    *[lambda dice, run: ("add_faults", {"rules": [random_rule(dice)]})] * 8,
    lambda dice, run: ("release_fault", {"name": _a_name(dice, run)}),
    lambda dice, run: ("remove_fault", {"name": _a_name(dice, run)}),
    lambda dice, run: ("clear_faults", {}),
    lambda dice, run: ("seed_faults", {"seed": dice.randrange(100)}),
    lambda dice, run: ("force_rebalance", {"group": GROUP}),
    lambda dice, run: ("set_generation", {"group": GROUP, "generation": dice.choice([None, 1, 7])}),
    lambda dice, run: ("expire_member", {"group": GROUP, "member": f"m{dice.randrange(MEMBERS)}"}),
    lambda dice, run: ("hold_group", {"group": GROUP, "state": dice.choice(("PreparingRebalance", "CompletingRebalance", "Stable"))}),
    *[lambda dice, run: ("release_group", {"group": dice.choice((GROUP, CONSUMER_GROUP))})] * 4,
    lambda dice, run: ("hold_group", {"group": CONSUMER_GROUP, "state": dice.choice(("Assigning", "Reconciling", "Stable"))}),
    lambda dice, run: ("fence_member", {"group": CONSUMER_GROUP, "member": f"c{dice.randrange(CONSUMERS)}"}),
    lambda dice, run: ("freeze_member", {"group": CONSUMER_GROUP, "member": f"c{dice.randrange(CONSUMERS)}", "ms": 400}),
    lambda dice, run: ("grow_topic", {"name": CONSUMERS_TOPIC, "partitions": dice.randrange(5, 9)}),
    lambda dice, run: ("freeze_member", {"group": GROUP, "member": f"m{dice.randrange(MEMBERS)}", "ms": 400}),
    lambda dice, run: ("complete_delay", {"group": GROUP}),
    lambda dice, run: ("choose_leader", {"group": GROUP, "member": f"m{dice.randrange(MEMBERS)}"}),
    lambda dice, run: ("move_coordinator", {"group": GROUP}),
    lambda dice, run: ("stall_node", {"node": 1, "ms": 300}),
    lambda dice, run: ("step_clock", {"ms": 500}),
]
