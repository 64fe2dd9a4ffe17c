"""Java's producers use the transactional requests of KIP-890 from client 4.0 on, if the cluster has transaction.version 2.

The matrix (tests/interop) compares their effects on Apache Kafka and on groupmock.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from groupmock import Broker
from groupmock.journal.read import read
from groupmock.journal.rows import RequestRow

INTEROP: Final = Path(__file__).resolve().parents[2] / "interop"
NEW: Final = {"Produce": {13}, "EndTxn": {5}, "TxnOffsetCommit": {5}}
OLD: Final = {"Produce": {11}, "AddPartitionsToTxn": {3}, "AddOffsetsToTxn": {4}, "EndTxn": {4}, "TxnOffsetCommit": {4}}


@pytest.mark.parametrize(("release", "level", "wanted"), [("4.3.0", 2, NEW), ("4.3.0", 1, OLD), ("3.9.1", 2, OLD)])
def test_java_speaks_as_the_cluster_says(
    release: str, level: int, wanted: dict[str, set[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(INTEROP))
    transactions, desk, catalogue, building = (
        importlib.import_module(f"judges.{name}") for name in ("transactions", "desk", "catalogue", "building")
    )
    judge = next(each for each in catalogue.JUDGES if each.name == f"Java {release}, transactions")
    settings = {"groupmock.transaction.version": level, "group.initial.rebalance.delay.ms": 0}
    with Broker(profile="kafka-4.3", journal=tmp_path / "j.jsonl", settings=settings) as broker:
        row = transactions.TransactionsRow(judge.name, judge.command(building.built(judge.program)), desk.Desk(broker.bootstrap), tmp_path)
        row.run(short=True)
    assert row.good, {name: verdict.why for name, verdict in row.verdicts.items()}
    assert spoken(tmp_path / "j.jsonl") == wanted


def spoken(journal: Path) -> dict[str, set[int]]:
    """Return the API versions that members used for their transactions."""
    found = defaultdict(set)
    for each in read(journal)[1]:
        if isinstance(each, RequestRow) and each.api_name in NEW | OLD and (each.client_id or "").startswith("member"):
            found[each.api_name].add(each.api_version)
    return dict(found)
