"""Random members and random steering commands on the pure core keep the invariants, answer nothing twice and leave no parked request
behind."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from core_world import World
from fault_script import CONSUMERS, MEMBERS, Run
from properties.walks import WALK, Walked
from rights import STANDARD
from searching import decides, seeds

from groupmock.core.events import Command
from groupmock.core.steering import CannotSteer, UnknownCommand, load
from groupmock.rig.replay import replay
from groupmock.rig.wire import request
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from groupmock_codec.records import NewRecord, encode_batch

SEEDS = 1500
SHARES = 3
STEPS = 60
BATCH = encode_batch([NewRecord(key=None, value=b"v", headers=[], timestamp=0)])
STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")
CONSUMER_STATES = ("Empty", "Assigning", "Reconciling", "Stable")
RESETS: tuple[dict[str, Any], ...] = (
    {"to": "earliest"},
    {"to": "latest"},
    {"to": "current"},
    {"offset": 2},
    {"timestamp": 5},
    {"shift": -1},
)
Make = Callable[[Random, list[str]], dict[str, Any]]
OF_TRANSACTIONS = (
    "abort_transaction", "fence_transaction", "expire_transactional_id", "hold_markers", "release_markers", "move_transaction_coordinator",
)  # fmt: skip


def _who(dice: Random, ids: list[str]) -> str:
    return dice.choice([*ids, "c0", "c1", "i0"])


COMMANDS: dict[str, Make] = {
    "expire_member": lambda dice, ids: {"group": "g", "member": _who(dice, ids)},
    "fence_instance": lambda dice, ids: {"group": "g", "instance": "i0"},
    "freeze_member": lambda dice, ids: {"group": "g", "member": _who(dice, ids), "ms": dice.choice([None, 500, 5000])},
    "thaw_member": lambda dice, ids: {"group": "g", "member": _who(dice, ids)},
    "force_rebalance": lambda dice, ids: {"group": "g"},
    "set_generation": lambda dice, ids: {"group": "g", "generation": dice.choice([None, 1, 7])},
    "hold_group": lambda dice, ids: {"group": "g", "state": dice.choice(STATES)},
    "release_group": lambda dice, ids: {"group": "g"},
    "complete_delay": lambda dice, ids: {"group": "g"},
    "order_joins": lambda dice, ids: {"group": "g", "names": dice.sample(["c0", "c1", "c2"], 2)},
    "choose_leader": lambda dice, ids: {"group": "g", "member": _who(dice, ids)},
    "move_coordinator": lambda dice, ids: {"group": "g", "loading_ms": dice.choice([0, 300])},
    "load_coordinator": lambda dice, ids: {"partition": 3, "node": 1},
    "unload_coordinator": lambda dice, ids: {"group": "g"},
    "stall_node": lambda dice, ids: {"node": dice.choice([1, 2]), "ms": 300},
    "start_node": lambda dice, ids: {"node": dice.choice([1, 2])},
    "jump_timer": lambda dice, ids: {"timer": dice.choice(["join", "sync", "load"]), "subject": [dice.choice(["g", "3"])]},
    "step_clock": lambda dice, ids: {"ms": 400},
    "reseed": lambda dice, ids: {"seed": dice.randrange(9)},
}


class Walk:
    """A random walk of requests from a few members and of steering commands."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.case = WALK.shown({"seed": seed, "steps": []})
        self.walked = Walked(seed)
        self.ids: list[str] = []
        self.done: Counter[str] = Counter()

    @property
    def node(self) -> int:
        return self.walked.world.cluster.groups.hosting.node_of("g") or 1

    def play(self) -> None:
        for _ in range(STEPS):
            self.dice.choice([self.ask, self.ask, self.steer, self.wait])()
            group = self.walked.world.cluster.groups.find("g")
            self.ids = [*group.members] if group is not None else []

    def take(self, what: str, **values: Any) -> bool:
        self.case["steps"].append([what, values])
        return self.walked.take(what, values)

    def ask(self) -> None:
        dice = self.dice
        group = self.walked.world.cluster.groups.find("g")
        generation = group.generation if group is not None else 0
        client = f"c{dice.randrange(3)}"
        instance = dice.choice([None, None, "i0"])
        who = dice.choice(self.ids) if self.ids else ""
        patience = {"session": 2000, "rebalance": 3000}
        kind = dice.randrange(6)
        if kind == 0:
            self.take("join", who=[""], client=client, instance=instance, node=self.node, **patience)
        elif kind == 1 and group is not None:
            reserved = sorted(group.pending_joins)
            self.take("join", who=[dice.choice(reserved) if reserved else who], client=client, node=self.node, **patience)
        elif kind == 2 and group is not None:
            leader = dice.choice([who, group.leader_id or who])
            self.take("sync", who=[leader], generation=generation, assignments={who: "a"}, version=3, node=self.node)
        elif kind == 3:
            self.take("beat", who=[who], generation=generation, node=self.node)
        elif kind == 4:
            self.take("commit", who=[who], generation=generation, node=self.node)
        else:
            self.take("leave", who=[who], node=self.node)

    def steer(self) -> None:
        name = self.dice.choice(sorted(COMMANDS))
        accepted = self.take("command", name=name, arguments=COMMANDS[name](self.dice, self.ids))
        self.done[name if accepted else "refused"] += 1

    def wait(self) -> None:
        self.take("sleep", ms=self.dice.choice([1, 50, 300, 1000, 2500]))


@pytest.mark.property
@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_no_parked_request_is_forgotten(share: int) -> None:
    done: Counter[str] = Counter()
    for seed in seeds(SEEDS)[share::SHARES]:
        walk = Walk(seed)
        try:
            walk.play()
            walk.walked.let_go()
        except (AssertionError, KeyError, AttributeError) as found:
            raise AssertionError(f"seed {seed}: {found}") from found
        done.update(walk.done)
    never = {name for name in COMMANDS if not done[name]}
    assert not decides() or never == set(), "these were never possible: the walk proves nothing about them"


# -- the same through a driver and its journal, and again by replay ----------------------------------------------------


def _member(dice: Random, run: Run) -> str:
    return f"m{dice.randrange(MEMBERS)}"


STEERED: dict[str, Callable[[Random, Run], dict[str, Any]]] = {
    "expire_member": lambda dice, run: {"group": "g", "member": _member(dice, run)},
    "fence_instance": lambda dice, run: {"group": "g", "instance": dice.choice(list(_instances(run)) or ["i"])},
    "fence_member": lambda dice, run: {"group": "cg", "member": f"c{dice.randrange(CONSUMERS)}"},
    "freeze_member": lambda dice, run: {"group": "g", "member": _member(dice, run), "ms": dice.choice([None, 400])},
    "thaw_member": lambda dice, run: {"group": "g", "member": _member(dice, run)},
    "force_rebalance": lambda dice, run: {"group": "g"},
    "set_generation": lambda dice, run: {"group": "g", "generation": dice.choice([None, 1, 7])},
    "hold_group": lambda dice, run: _held(dice),
    "release_group": lambda dice, run: {"group": dice.choice(["g", "cg"])},
    "complete_delay": lambda dice, run: {"group": "g"},
    "order_joins": lambda dice, run: {"group": "g", "names": [_member(dice, run)]},
    "choose_leader": lambda dice, run: {"group": "g", "member": _member(dice, run)},
    "move_coordinator": lambda dice, run: {"group": "g", "loading_ms": dice.choice([0, 100])},
    "load_coordinator": lambda dice, run: {"partition": 3, "node": dice.choice([1, 2])},
    "unload_coordinator": lambda dice, run: {"group": "g"},
    "set_user": lambda dice, run: {"name": "alice", "password": "secret"},
    "remove_user": lambda dice, run: {"name": "alice"},
    "move_leader": lambda dice, run: {"topic": "T", "partition": 0, "node": dice.choice([1, 2])},
    "move_leaders": lambda dice, run: {"node": dice.choice([None, 1, 2]), "topic": dice.choice([None, "T"])},
    "move_coordinators": lambda dice, run: {"node": dice.choice([None, 1, 2]), "loading_ms": dice.choice([0, 100])},
    "add_node": lambda dice, run: _another_node(run),
    "lag_replica": lambda dice, run: {"topic": "C", "partition": 0, "node": dice.choice([1, 2])},
    "catch_up_replica": lambda dice, run: {"topic": "C", "partition": 0, "node": dice.choice([1, 2])},
    "truncate_log": lambda dice, run: {"topic": "T", "partition": 0, "offset": dice.randrange(4)},
    "elect_unclean_leader": lambda dice, run: {"topic": "T", "partition": 0, "node": dice.choice([None, 2]), "offset": dice.randrange(4)},
    "compact_topic": lambda dice, run: {"topic": "C", "roll": dice.random() < 0.5},
    "set_next_offset": lambda dice, run: {"topic": "C", "partition": 0, "offset": dice.randrange(40)},
    "retain_topic": lambda dice, run: {"topic": "C"},
    "stop_node": lambda dice, run: {"node": dice.choice([1, 2]), "clean": dice.random() < 0.5},
    "start_node": lambda dice, run: {"node": dice.choice([1, 2])},
    "stall_node": lambda dice, run: {"node": dice.choice([1, 2]), "ms": 200},
    "jump_timer": lambda dice, run: dice.choice(JUMPS),
    "step_clock": lambda dice, run: {"ms": 500},
    "reseed": lambda dice, run: {"seed": dice.randrange(100)},
    "create_topic": lambda dice, run: {"name": dice.choice(["U", "V"]), "partitions": dice.choice([1, 3])},
    "grow_topic": lambda dice, run: {"name": dice.choice(["T", "U"]), "partitions": dice.choice([2, 4])},
    "delete_topic": lambda dice, run: {"name": dice.choice(_others(run))},
    "append": lambda dice, run: {"topic": dice.choice(["T", "C", "U"]), "partition": 0, "batch": BATCH},
    "produce": lambda dice, run: {"topic": dice.choice(["T", "U"]), "partitions": [0, 0], "batches": BATCH + BATCH},
    "configure_topic": lambda dice, run: {"name": dice.choice(["T", "T", "U"]), "set": dice.choice(TOPIC_CONFIGS)},
    "configure_node": lambda dice, run: {"node": dice.choice([0, 1]), "set": {"message.max.bytes": str(dice.choice([100, 10**6]))}},
    "configure_group": lambda dice, run: {"group": "sg", "set": {"share.delivery.count.limit": str(dice.choice([1, 3]))}},
    "commit_offsets": lambda dice, run: {
        "group": dice.choice("gh"),
        "offsets": [{"topic": "T", "partition": 0, "offset": dice.randrange(9)}],
    },
    **dict.fromkeys(
        ("allow", "deny"),
        lambda dice, run: {"principal": dice.choice(["User:ANONYMOUS", "alice"]), "operations": ["READ"], "group": "h"},
    ),
    "deny": lambda dice, run: {
        "principal": dice.choice(["User:ANONYMOUS", "alice"]), "operations": ["READ"], "group": "h", "ms": dice.choice([None, 500]),
    },
    "remove_acls": lambda dice, run: {"principal": dice.choice([None, "*", "alice"])},
    "reset_offsets": lambda dice, run: {"group": dice.choice("gh"), "topic": dice.choice(["T", None]), **dice.choice(RESETS)},
    **dict.fromkeys(OF_TRANSACTIONS, lambda dice, run: {"transactional_id": dice.choice("xy")}),
    **dict.fromkeys(("hold_deliveries", "resume_deliveries"), lambda dice, run: {"group": "sg"}),
    "expire_locks": lambda dice, run: {"group": "sg", "first": dice.randrange(3)},
    "release_records": lambda dice, run: {"group": "sg", "member": "anna"},
    "archive_records": lambda dice, run: {"group": "sg", "topic": "T", "partition": 0, "first": 0, "last": dice.randrange(3)},
}
OF_RECORDS = {"expire_locks", "release_records", "archive_records"}
"""Commands that need a share group with records in flight, which no run of this test has."""


COMPACTED = {"name": "C", "partitions": 1, "replication_factor": 2, "configs": {"cleanup.policy": "compact,delete"}}
TOPIC_CONFIGS: tuple[dict[str, str], ...] = (
    {"retention.ms": "1"},
    {"retention.ms": str(10**9)},
    {"cleanup.policy": "compact,delete", "segment.ms": "1"},
)
JUMPS: tuple[dict[str, Any], ...] = (
    {"timer": "log_retention"},
    *({"timer": timer, "subject": ["g"]} for timer in ("join", "sync")),
    {"timer": "load", "subject": ["3"]},
)


def _held(dice: Random) -> dict[str, Any]:
    consumers = dice.random() < 0.5
    return {"group": "cg" if consumers else "g", "state": dice.choice(CONSUMER_STATES if consumers else STATES)}


def _another_node(run: Run) -> dict[str, Any]:
    number = len(run.driver.core.environment.identity.nodes) + 1
    return {"node": number, "host": "127.0.0.1", "port": 9091 + number}


def _others(run: Run) -> list[str]:
    return [name for name in run.driver.core.cluster.topics.names() if name not in ("T", "C")] or ["U"]


def _instances(run: Run) -> list[str]:
    group = run.driver.core.cluster.groups.find("g")
    return list(group.static_members) if group is not None else []


class SteeredRun(Run):
    """Scripted members on a driver without sockets that receive every steering command."""

    settings: ClassVar[dict[str, Any]] = {"authorizer_class_name": STANDARD, "allow_everyone_if_no_acl_found": True}
    done: Counter[str]

    def play(self) -> None:
        self.driver.submit(Command("create_topic", COMPACTED))
        self.driver.submit(Command("append", {"topic": "C", "partition": 0, "batch": BATCH}))
        super().play()

    def _produces(self, dice: Random) -> None:
        """Start a producer at each node, possibly with an open transaction that only the test ends."""
        topics = [AddPartitionsToTxnTopic(name="T", partitions=[0])]
        for name, node in itertools.product("xy", (1, 2)):
            wire = self.rig.connect(node)
            wire.send(request(22, 4, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000), 1, "p"))
            known = self.driver.core.cluster.transactions.find(name)
            if known is not None and dice.random() < 0.7:
                asked = AddPartitionsToTxnRequest(
                    v3_and_below_transactional_id=name,
                    v3_and_below_producer_id=known.producer_id,
                    v3_and_below_producer_epoch=known.epoch,
                    v3_and_below_topics=topics,
                )
                wire.send(request(24, 3, asked, 2, "p"))

    def _break(self, dice: Random) -> None:
        name = dice.choice(sorted(STEERED))
        if name in OF_TRANSACTIONS:
            self._produces(dice)
        try:
            self.driver.submit(Command(name, STEERED[name](dice, self)))
            self.done[name] += 1
        except CannotSteer:
            self.done["refused"] += 1


@pytest.mark.property
@pytest.mark.soak
def test_every_command_is_replayed(tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    for seed in seeds(100):
        path = tmp_path / "run.jsonl"
        run = SteeredRun(seed, path)
        run.done = done
        run.play()
        result = replay(path)
        assert result.difference is None, f"seed {seed}: {result.difference}"
        assert "internal error" not in path.read_text(), f"seed {seed}: a defect of groupmock itself"
    never = set(STEERED) - {name for name in done if done[name]} - {"fence_instance"} - OF_RECORDS
    assert not decides() or never == set(), "never possible in any of these runs"


def test_the_table_of_commands_is_whole() -> None:
    assert set(STEERED) == {name for name, command in load().items() if not command.on_rules}
    with pytest.raises(UnknownCommand):
        World.make().command("steer_nowhere")
