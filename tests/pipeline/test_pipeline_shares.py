"""The job `shares` agrees with a computation in plain Python, which reads deliveries from the answers and follows every record."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from journal_frames import Row, frame, read
from recorded_journals import recorded
from share_wire import ShareWire, id_of, worked

from groupmock.core.steering.register import NotNow
from groupmock_codec.acknowledge_types import ACCEPT, GAP, REJECT, RELEASE, RENEW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(6)
MEMBERS = ("anna", "ben", "cleo")
OTHER_LISTS = ("accepted", "gaps", "renewed")


def drawn(path: Path, seed: int) -> Path:
    """Play members that fetch, acknowledge with any type, are late, close their sessions, crash, and are steered."""
    dice = Random(seed)
    world = ShareWire(path, configs={"share.delivery.count.limit": str(dice.choice((2, 3, 5)))})
    held: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for member in MEMBERS:
        world.join(member)
        world.beat(member)
    for _ in range(200):
        member, partition = dice.choice(MEMBERS), dice.choice((0, 1))
        world.beat(member)
        match dice.choice(("produce", "fetch", "fetch", "acknowledge", "acknowledge", "acknowledge", "wait", "close", "crash", "steer")):
            case "produce":
                world.produce(dice.randint(1, 8), partition)
            case "fetch":
                held[member] += [(partition, *run[:2]) for run in world.fetch(member, partition, max_records=dice.choice((1, 4, 500)))]
            case "acknowledge" if held[member] and member in world.sessions:
                where, first, last = held[member].pop(dice.randrange(len(held[member])))
                kinds = [dice.choice((ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, GAP, RENEW)) for _ in range(first, last + 1)]
                world.acknowledge(member, first, last, kinds, where)
            case "wait":
                world.rig.sleep(dice.choice((1_000, 8_000, 16_000)))
            case "close" if member in world.sessions:
                world.close(member)
            case "crash":
                world.hang_up(member)
            case "steer" if member in world.sessions:
                command = dice.choice(("expire_locks", "release_records"))
                with suppress(NotNow):  # A command is refused if nobody has records in flight.
                    world.rig.command(command, group="g", **({} if command == "expire_locks" else {"member": id_of(member)}))
            case _:
                pass
    world.rig.close()
    return path


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    folder = tmp_path_factory.mktemp("journals")
    found = {"worked": read(worked(folder / "worked.jsonl"))}
    found |= {f"drawn {seed}": read(drawn(folder / f"{seed}.jsonl", seed)) for seed in SEEDS}
    return found | {"aiokafka": read(recorded("aiokafka", folder))}


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, journals: dict[str, list[Row]]) -> dict[str, list[Row]]:
    from groupmock_pipeline.jobs.shares import COLUMNS, shares

    found = shares(frame(spark, tmp_path_factory.mktemp("rows"), journals))
    assert found.columns == list(COLUMNS)
    lines = [line.asDict(recursive=True) for line in found.collect()]
    return {run: [line for line in lines if line["run"] == run] for run in journals}


def offsets(runs: list[list[int]]) -> list[int]:
    return [offset for run in runs for offset in range(run[0], run[1] + 1)]


class SecondComputation:
    """Follows every record of the topic `t`. Deliveries are those in the answers to ShareFetch, and not those in notes."""

    def __init__(self, rows: list[Row]) -> None:
        self.count: Counter[str] = Counter()
        self.again: Counter[str] = Counter()
        self.archived: Counter[str] = Counter()
        self.members: set[str] = set()
        self.partitions: set[int] = set()
        self.most = 0
        self.freed: dict[tuple[int, int], str] = {}
        asked = {row["ticket"]: row["message"] for row in rows if row.get("kind") == "request"}
        for row in rows:
            if row.get("api_name") == "ShareFetch" and row["kind"] == "reply" and row["message"]:
                self._fetched(asked[row["ticket"]]["member_id"], row["message"])
            elif row.get("kind") == "note" and row["what"] in ("records_acknowledged", "records_released"):
                self._note(row["fields"])

    def _fetched(self, member: str, answer: dict[str, Any]) -> None:
        for place in (place for topic in answer["responses"] for place in topic["partitions"]):
            for run in place["acquired_records"]:
                self.members.add(member)
                self.partitions.add(place["partition_index"])
                self.most = max(self.most, run["delivery_count"])
                for offset in range(run["first_offset"], run["last_offset"] + 1):
                    self.count["deliveries"] += 1
                    if run["delivery_count"] > 1:
                        self.count["redeliveries"] += 1
                        self.again[self.freed[place["partition_index"], offset]] += 1

    def _note(self, fields: dict[str, Any]) -> None:
        cause = fields.get("cause", "released")
        for name in OTHER_LISTS:
            self.count[name] += len(offsets(fields.get(name, [])))
        for name in ("released", "available"):
            for offset in offsets(fields.get(name, [])):
                self.freed[fields["partition"], offset] = cause
                self.count["released"] += name == "released"
                self.count["lock_ends"] += cause in ("lock_ended", "expiry_ordered")
        for name, why in (("rejected", "rejected"), ("exhausted", cause), ("archived", cause)):
            self.archived[why] += len(offsets(fields.get(name, [])))
            self.count["lock_ends"] += len(offsets(fields.get(name, []))) * (why in ("lock_ended", "expiry_ordered"))

    def line(self) -> dict[str, Any]:
        names = ("deliveries", "redeliveries", "accepted", "released", "gaps", "renewed", "lock_ends")
        return {
            "group": "g", "topic": "t", "partitions": len(self.partitions), "members": len(self.members), "most_deliveries": self.most,
            **{name: self.count[name] for name in names}, "redelivered_because": dict(self.again), "archived": self.archived.total(),
            "archived_because": dict(+self.archived),
        }  # fmt: skip


@pytest.mark.parametrize("run", ["worked", *(f"drawn {seed}" for seed in SEEDS)])
def test_figures_of_a_share_group_are_those_of_a_second_computation(
    run: str, journals: dict[str, list[Row]], table: dict[str, list[Row]]
) -> None:
    expected = SecondComputation(journals[run]).line()
    assert [{name: line[name] for name in expected} for line in table[run]] == [expected]


def test_drawn_histories_have_every_outcome(journals: dict[str, list[Row]]) -> None:
    found = [SecondComputation(journals[f"drawn {seed}"]) for seed in SEEDS]
    count, again, archived = Counter[str](), Counter[str](), Counter[str]()
    for each in found:
        count, again, archived = count + each.count, again + each.again, archived + each.archived
    assert min(count.values()) > 5 and len(count) == 7
    assert set(again) == {"released", "lock_ended", "session_closed", "connection_closed", "expiry_ordered", "release_ordered"}
    assert {"rejected", "released", "lock_ended"} <= set(archived)


def test_the_two_workers_have_the_figures_worked_out_by_hand(table: dict[str, list[Row]]) -> None:
    (line,) = table["worked"]
    assert (line["deliveries"], line["redeliveries"], line["most_deliveries"]) == (10, 4, 3)
    assert line["redelivered_because"] == {"released": 2, "lock_ended": 1, "connection_closed": 1}
    assert line["archived_because"] == {"rejected": 1, "released": 1}
    assert (line["accepted"], line["released"], line["renewed"], line["lock_ends"]) == (4, 2, 1, 1)


def test_runs_without_share_groups_have_no_lines(table: dict[str, list[Row]]) -> None:
    assert table["aiokafka"] == []


def test_a_run_of_very_many_records_is_counted_without_following_each(spark: SparkSession, tmp_path: Path) -> None:
    from groupmock_pipeline.jobs.shares import shares

    last = 2**31 - 1
    named = {"group": "g", "topic": "t", "partition": 0, "member_id": "m"}
    notes: list[tuple[str, Row]] = [
        ("records_acquired", {"records": [[0, last, 1]]}),
        ("records_released", {"available": [[0, last]], "cause": "lock_ended"}),
        ("records_acquired", {"records": [[0, last, 2]]}),
    ]
    rows: list[Row] = [{"kind": "note", "t": at, "what": what, "fields": {**named, **said}} for at, (what, said) in enumerate(notes)]
    (line,) = shares(frame(spark, tmp_path, {"large": rows})).collect()
    assert (line.deliveries, line.redeliveries, line.lock_ends) == (2 * (last + 1), last + 1, last + 1)
    assert line.redelivered_because == {"lock_ended": last + 1}


def test_notes_about_records_are_shuffled_once(
    spark: SparkSession, tmp_path: Path, journals: dict[str, list[Row]], capsys: pytest.CaptureFixture[str]
) -> None:
    from groupmock_pipeline.jobs.shares import shares

    shares(frame(spark, tmp_path, {"worked": journals["worked"]})).explain()
    plan = capsys.readouterr().out
    assert (plan.count("Exchange "), len(re.findall(r"\bExchange hashpartitioning\(run#\d+, 2\)", plan))) == (1, 1)
