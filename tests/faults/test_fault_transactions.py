"""Faults for transactions: conditions, kinds and the ready plans for producers work, and every run can be replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each
from log_world import batch, produce_request
from replayed import replayed
from rig_journal import never

from groupmock.faults.facts import for_producers
from groupmock.faults.plan import BadPlan, read_plan, ready_plans, rule_as_data
from groupmock.journal.file import FileSink
from groupmock.rig import WireRig
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k65_describe_transactions import DescribeTransactionsRequest
from groupmock_codec.records import TRANSACTIONAL_BIT

NAME: Final = "till-1"
OLD, NEW = 3, 5
"""Versions of EndTxn from a client that keeps its epoch and from one that gets a new epoch per transaction (KIP-890)."""
PLANS: Final = [name for name in ready_plans() if for_producers(read_plan(name))]


class House:
    """A cluster of two nodes with one topic and one producer. The journal goes to the file `rows`, which can be replayed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rig = WireRig.make(topics={"t": 2}, nodes=2, seed=3, sinks=[FileSink(str(path), never)])
        self.node = self.ask(10, 4, FindCoordinatorRequest(key_type=1, coordinator_keys=[NAME])).coordinators[0].node_id
        given = self.comes()
        self.pid, self.epoch = given.producer_id, given.producer_epoch

    def ask(self, key: int, version: int, message: Any, node: int = 1) -> Any:
        return self.rig.connect(node).ask(key, version, message, "till")

    def rule(self, when: dict[str, Any], do: str | dict[str, Any], **more: Any) -> None:
        asked = {"when": when, "do": {"kind": do} if isinstance(do, str) else do, **more}
        self.rig.command("add_faults", rules=[{"name": "r", **asked}])

    def fired(self, name: str = "r") -> int:
        return self.rig.driver.rules.registry.report(name).fired

    def comes(self, version: int = 4) -> Any:
        return self.ask(22, version, InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000), self.node)

    def adds(self, partition: int = 0, version: int = 3) -> int:
        """Send AddPartitionsToTxn and return its error code."""
        topics = [AddPartitionsToTxnTopic(name="t", partitions=[partition])]
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=NAME, v3_and_below_producer_id=self.pid, v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )  # fmt: skip
        if version > 3:
            of = {"transactional_id": NAME, "producer_id": self.pid, "producer_epoch": self.epoch, "topics": topics}
            asked = AddPartitionsToTxnRequest(transactions=[AddPartitionsToTxnTransaction(**of)])
        answer = self.ask(24, version, asked, self.node)
        found = answer.results_by_topic_v3_and_below if version < 4 else answer.results_by_transaction[0].topic_results
        return int(found[0].results_by_partition[0].partition_error_code)

    def writes(self, version: int) -> int:
        """Send a Produce and return its error code; an old client adds the partition to the transaction first."""
        if version < 12:
            assert self.adds() == 0
        bits = {"producer_id": self.pid, "producer_epoch": self.epoch, "base_sequence": 0, "attributes": TRANSACTIONAL_BIT}
        asked = produce_request(batch(b"v", **bits), transactional_id=NAME)
        return int(self.ask(0, version, asked).responses[0].partition_responses[0].error_code)

    def end(self, commit: bool = True, version: int = OLD) -> Any:
        asked = EndTxnRequest(transactional_id=NAME, producer_id=self.pid, producer_epoch=self.epoch, committed=commit)
        return self.ask(26, version, asked, self.node)

    def state(self) -> str:
        """Return the transaction's state from DescribeTransactions."""
        answers = [self.ask(65, 0, DescribeTransactionsRequest(transactional_ids=[NAME]), node) for node in (1, 2)]
        return next(str(each.transaction_states[0].transaction_state) for each in answers if not each.transaction_states[0].error_code)

    def committed(self) -> int:
        """Return the last stable offset of the partition."""
        return self.rig.core.cluster.topics.require_partition("t", 0).stable()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with replayed(House(tmp_path / "run.jsonl")) as made:
        yield made


HOLDS: Final[dict[str, Any]] = {
    "transactional_id": "till-*", "producer_epoch": [0, 4], "transaction_state": "Ongoing", "committed": True,
}  # fmt: skip
FAILS: Final[dict[str, Any]] = {"transactional_id": "till", "producer_epoch": 1, "transaction_state": "Empty", "committed": False}


def test_each_condition_sees_what_a_request_says(house: House) -> None:
    """EndTxn is the only request whose fields match all conditions."""
    for condition in HOLDS:
        for conditions, met in (({condition: HOLDS[condition]}, 1), ({condition: FAILS[condition]}, 0)):
            house.rule({"api": "EndTxn"} | conditions, {"kind": "error", "code": 51})
            house.adds()
            assert (house.end().error_code == 51, house.fired()) == (bool(met), met), conditions
            house.rig.command("clear_faults")
            house.end()


def test_a_rule_that_missed_says_what_was_there(house: House) -> None:
    house.rule({"api": "EndTxn"} | FAILS, "drop", stage="request")
    house.adds()
    house.end()
    report = house.rig.driver.rules.registry.report("r")
    assert report.near_miss is not None and report.near_miss.failed == [
        "transactional_id is till-1, wanted till",
        "producer_epoch is 0, wanted 1",
        "transaction_state is Ongoing, wanted Empty",
        "committed is True, wanted False",
    ]


def test_every_request_of_a_producer_names_its_id(house: House) -> None:
    """One rule matches the producer's whole dialogue and no request with another transactional id or none."""
    house.rule({"transactional_id": NAME}, "observe")
    house.ask(10, 1, FindCoordinatorRequest(key=NAME, key_type=1))
    house.ask(10, 6, FindCoordinatorRequest(coordinator_keys=[NAME, "other"], key_type=1))
    house.comes()
    house.epoch = 1
    assert [house.adds(), house.adds(version=5), house.writes(9)] == [0, 0, 0]
    of = {"transactional_id": NAME, "producer_id": house.pid, "producer_epoch": 1}
    house.ask(25, 3, AddOffsetsToTxnRequest(**of, group_id="g"), house.node)
    house.end()
    assert house.fired() == 9
    house.ask(10, 1, FindCoordinatorRequest(key=NAME))
    house.ask(22, 4, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
    house.ask(22, 4, InitProducerIdRequest(transactional_id="other", transaction_timeout_ms=60_000), 3 - house.node)
    assert house.fired() == 9


def test_an_epoch_is_seen_where_one_is_named(house: House) -> None:
    """AddPartitionsToTxn v4+ has an epoch per transaction, so the top-level epoch of older versions is ignored there."""
    house.comes()
    house.epoch = 1
    house.rule({"producer_epoch": 0}, "observe")
    assert [house.adds(version=5), house.adds(version=3)] == [0, 0]
    assert house.fired() == 0


def test_every_partition_is_told_an_error_of_the_whole(house: House) -> None:
    """The client versions of AddPartitionsToTxn have no top-level error, so each partition carries the error."""
    for version in (0, 3, 5):
        for stage in ("request", "reply"):
            house.rule({"api": "AddPartitionsToTxn", "version": "-3"}, {"kind": "error", "code": 51}, stage=stage)
            house.rig.command("add_faults", rules=[{
                "name": "whole", "when": {"api": "AddPartitionsToTxn", "version": "4-", "transactional_id": NAME}, "stage": stage,
                "do": {"kind": "error", "code": 51},
            }])  # fmt: skip
            assert house.adds(version=version) == 51
            assert house.state() == ("Empty" if stage == "request" else "Ongoing")
            house.rig.command("clear_faults")
            house.end()
            house.epoch = house.comes().producer_epoch


def test_a_fence_strikes_before_the_request(house: House) -> None:
    for version, code in ((1, 47), (2, 90), (NEW, 90)):
        house.adds()
        house.rule({"api": "EndTxn"}, "fence_transaction", times=1)
        assert (house.end(version=version).error_code, house.fired(), house.state()) == (code, 1, "Empty")
        house.rig.command("clear_faults")
        house.epoch = house.comes().producer_epoch


def test_forced_abort_has_the_effect_of_a_timeout(house: House) -> None:
    """A forced abort has the effect of a transaction timeout: it fences an old client, and a new client gets an error and can abort
    (TX-92)."""
    for version, commit, code in ((1, True, 47), (OLD, True, 90), (OLD, False, 90), (NEW, True, 48), (NEW, False, 0)):
        house.adds()
        house.rule({"api": "EndTxn"}, "abort_transaction", times=1)
        assert (house.end(commit, version).error_code, house.fired(), house.state()) == (code, 1, "CompleteAbort")
        house.rig.command("clear_faults")
        house.epoch = house.comes().producer_epoch


def test_nothing_to_abort_leaves_the_call_alone(house: House) -> None:
    house.rule({"api": "InitProducerId"}, "abort_transaction")
    assert (house.comes().error_code, house.fired()) == (0, 1)


def test_held_markers_come_when_their_time_is_over(house: House) -> None:
    house.rule({"api": "EndTxn"}, {"kind": "hold_markers", "seconds": 3}, times=1)
    assert house.writes(9) == 0
    assert (house.end().error_code, house.adds(), house.state(), house.committed()) == (0, 51, "PrepareCommit", 0)
    house.rig.sleep(2_999)
    assert house.adds() == 51
    house.rig.sleep(1)
    assert (house.state(), house.committed(), house.adds()) == ("CompleteCommit", 2, 0)


def test_a_hold_by_hand_takes_the_place_of_a_timed_one(house: House) -> None:
    house.rig.command("hold_markers", transactional_id=NAME, ms=1_000)
    house.rig.command("hold_markers", transactional_id=NAME)
    house.adds()
    house.end()
    house.rig.sleep(2_000)
    assert house.state() == "PrepareCommit"
    house.rig.command("release_markers", transactional_id=NAME)
    assert house.state() == "CompleteCommit"
    house.rig.command("hold_markers", transactional_id=NAME, ms=1_000)
    house.rig.command("release_markers", transactional_id=NAME)
    house.rig.sleep(2_000)
    assert (house.adds(), house.end().error_code, house.state()) == (0, 0, "CompleteCommit")


def test_the_coordinator_moves_and_the_transaction_stays(house: House) -> None:
    house.adds()
    house.rule({"api": "EndTxn"}, {"kind": "move_transaction_coordinator", "loading_seconds": 1}, times=1)
    assert (house.end().error_code, house.fired()) == (16, 1)
    house.node = 3 - house.node
    assert house.end().error_code == 14
    house.rig.sleep(1_000)
    assert (house.state(), house.end().error_code, house.state()) == ("Ongoing", 0, "CompleteCommit")


REFUSED: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "no id in it": (
        {"api": "Heartbeat"},
        "fence_transaction",
        "fence_transaction cannot be at stage request .* it names no transactional id",
    ),
    "any request": ({}, "abort_transaction", "it names no transactional id: say which api"),
    "a condition that cannot hold": ({"api": "SyncGroup", "transactional_id": "x"}, "drop", "transactional_id can never hold"),
    "an epoch in batches": ({"api": "Produce", "producer_epoch": 1}, "drop", "producer_epoch can never hold"),
    "no end": ({"api": "AddOffsetsToTxn", "committed": True}, "drop", "committed can never hold"),
    "by group": ({"api": "InitProducerId"}, "move_coordinator", "it names no group"),
}


@for_each(("when", "do", "why"), REFUSED.values(), ids=REFUSED)
def test_what_a_request_does_not_say_is_refused(when: dict[str, Any], do: str, why: str) -> None:
    with pytest.raises(BadPlan, match=why):
        WireRig.make().command("add_faults", rules=[{"name": "r", "when": when, "do": {"kind": do}}])


TOLD: Final[dict[str, tuple[int | None, str]]] = {
    "fenced-zombie": (90, "Empty"),
    "transaction-timeout": (90, "CompleteAbort"),
    "transaction-coordinator-moves": (16, "Ongoing"),
    "commit-answer-lost": (None, "CompleteCommit"),
    "concurrent-transactions": (0, "PrepareCommit"),
}
"""Ready plan -> the error of the producer's first commit (None: its connection closes), and the state of the transactional id
afterwards."""


def test_there_is_a_line_for_every_ready_plan_for_producers() -> None:
    assert set(PLANS) == set(TOLD)


@pytest.mark.parametrize("name", TOLD)
def test_a_ready_plan_does_what_it_says(name: str, house: House) -> None:
    house.rig.command("add_faults", rules=[rule_as_data(rule) for rule in read_plan(name).rule])
    code, state = TOLD[name]
    assert house.writes(9) == 0
    wire = house.rig.connect(house.node)
    asked = EndTxnRequest(transactional_id=NAME, producer_id=house.pid, producer_epoch=house.epoch, committed=True)
    if code is None:
        with pytest.raises(AssertionError):
            wire.ask(26, OLD, asked, "till")
        assert wire.closed
    else:
        assert wire.ask(26, OLD, asked, "till").error_code == code
    house.rig.sleep(1_000)
    assert (house.state(), house.fired(name)) == (state, 1)
