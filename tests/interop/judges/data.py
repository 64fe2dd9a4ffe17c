"""tools/records/clients.json: what each judge saw on each broker. A new run replaces its own entries only, and every run of a row, green or
red, stays in its list of runs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .cell import Row, Verdict
from .stages import ROOT
from .telling import PATIENCE

DATA = ROOT / "tools" / "records" / "clients.json"
Entry = dict[str, Any]


def load(path: Path = DATA) -> dict[str, Any]:
    """The stored matrix; empty if there is none yet."""
    text = path.read_text() if path.exists() else ""
    found: dict[str, Any] = json.loads(text) if text else {"brokers": {}, "judges": {}}
    return found


def put(data: dict[str, Any], judge: str, broker: str, row: Row, note: str) -> None:
    """Enter what a row saw, and add the run to those that the row has had on this broker."""
    entry = data["judges"].setdefault(judge, {})
    entry["note"] = note
    def kept(verdict: Verdict) -> Entry:
        return asdict(verdict) | {"seconds": round(verdict.seconds, 1), "why": verdict.why.split("\n", 1)[0]}

    checks = {name: kept(verdict) for name, verdict in row.verdicts.items()}
    brokers = entry.setdefault("brokers", {})
    run = {"at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"), "patience": PATIENCE,
           "red": {name: verdict["why"] for name, verdict in checks.items() if verdict["ok"] is False}}
    brokers[broker] = {"client": row.client, "checks": checks, "runs": [*brokers.get(broker, {}).get("runs", ()), run]}


@contextlib.contextmanager
def changing(order: list[str], path: Path = DATA) -> Iterator[dict[str, Any]]:
    """The stored matrix, for one process at a time, written at the end: judges in catalogue order, and none that the catalogue does not
    know any more."""
    sys.path.append(str(ROOT))  # a script has its own folder there, not the one from which it is called
    from tools.records import save

    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = load(path)
        yield data
        data["judges"] = {name: data["judges"][name] for name in order if name in data["judges"]}
        save(path, data)


def is_kafka(broker: str) -> bool:
    """Whether that is Apache Kafka, of any release."""
    return broker.partition("-")[0] == "kafka"


def differences(data: dict[str, Any], judges: set[str] | None = None, brokers: set[str] | None = None) -> list[str]:
    """Return where a broker is red and Kafka is not, where the same green check saw something else, and where Kafka has no such check, of
    these judges and brokers or of all."""
    found = []
    for judge, entry in data["judges"].items():
        if judges is not None and judge not in judges:
            continue
        kafka = next(filter(is_kafka, entry["brokers"]), None)
        theirs = entry["brokers"][kafka]["checks"] if kafka else {}
        for broker, row in entry["brokers"].items():
            if broker == kafka or (brokers is not None and broker not in brokers):
                continue
            for check, ours in row["checks"].items():
                reference = theirs.get(check)
                if ours["ok"] is False and (reference is None or reference["ok"]):
                    found.append(f"{judge}: {check}: red on {broker}: {ours['why']}")
                elif kafka is not None and reference is None:
                    found.append(f"{judge}: {check}: seen on {broker}, and never on {kafka}")
                elif reference is not None and ours["ok"] and reference["ok"] and ours["saw"] != reference["saw"]:
                    found.append(f"{judge}: {check}: {broker} {ours['saw']}, {kafka} {reference['saw']}")
    return found
