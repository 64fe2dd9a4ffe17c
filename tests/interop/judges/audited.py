"""List the stock clients whose conduct is published, in programs as users write them, which `groupmock audit --drive` drives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import building, catalogue
from .building import Program
from .stages import ROOT, interpreter

RECORD = ROOT / "tools" / "records" / "client-audit.json"
LONGEST_S = 1500.0
SECONDS_PER = "30"
Entry = dict[str, Any]


@dataclass(frozen=True)
class Audited:
    """A client. `command` starts its program in the folder where it was built, with `environment` on top of ours."""

    name: str
    program: Program
    command: Callable[[Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    note: str = ""


def _python(library: str, release: str, assignor: str = "") -> Audited:
    build = building.virtual_environment(catalogue.NEW_PYTHONS, f"{library}=={release}")
    program = Program(f"python-{library}-{release}", None, (catalogue.NEW_PYTHONS,), build, catalogue.NEW_PYTHONS)
    script = str(building.HERE / "members" / "python" / "audited.py")
    return Audited(f"{library} {release}{f', {assignor}' if assignor else ''}", program,
                   lambda where: [str(where / "venv/bin/python"), script, library], {"AUDITED_ASSIGNOR": assignor} if assignor else {})


def _of_the_new_protocol(client: Audited) -> Audited:
    """The same program with `group.protocol=consumer` (KIP-848)."""
    return replace(client, name=f"{client.name}, consumer protocol", environment={"AUDITED_PROTOCOL": "consumer"})


def _java(release: str, assignor: str = "") -> Audited:
    return Audited(f"Java consumer {release}{f', {assignor}' if assignor else ''}", catalogue.java_program(release),
                   lambda where: building.java(where, "groupmock.interop.Audited"), {"AUDITED_ASSIGNOR": assignor} if assignor else {})


AUDITED = (
    _python("aiokafka", "0.14.0"),
    _python("kafka-python", "3.0.12"),
    _python("kafka-python", "3.0.12", "cooperative-sticky"),
    _python("confluent-kafka", "2.16.1"),
    _python("confluent-kafka", "2.16.1", "cooperative-sticky"),
    _of_the_new_protocol(_python("confluent-kafka", "2.16.1")),
    _java("4.3.0"),
    _java("4.3.0", "cooperative-sticky"),
    _of_the_new_protocol(_java("4.3.0")),
    Audited("franz-go 1.22.3", catalogue.FRANZ, catalogue.driver),
    Audited("sarama 1.61.1", catalogue.SARAMA, catalogue.driver),
    Audited("KafkaJS 2.2.4", catalogue.KAFKAJS, lambda where: building.node(where, "audited.js"),
            note="the library has no group.instance.id: situations of static members are not reached"),
    Audited("@platformatic/kafka 2.12.1", catalogue.PLATFORMATIC, lambda where: building.node(where, "audited.mjs")),
)


class NotAudited(Exception):
    """Raised if there is no verdict. The text says why."""


def drive(client: Audited, keep: Path | None, situations: str | None) -> dict[str, Any]:
    """The table of one client, as `groupmock audit --drive --table` writes it. Raises NotAudited, building.BuildFailed."""
    where = building.built(client.program)
    with tempfile.TemporaryDirectory(prefix="audited-") as scratch:
        table = Path(scratch, "table.json")
        words = [interpreter(), "-m", "groupmock", "audit", "--drive", "--seconds-per", SECONDS_PER, "--seed", "7", "--table", str(table),
                 *(["--keep", str(keep)] if keep else []), *(["--situations", situations] if situations else []),
                 "--", *client.command(where)]
        try:
            done = subprocess.run(words, cwd=ROOT, env={**os.environ, **client.environment}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            raise NotAudited(f"not done after {LONGEST_S:.0f} s") from None
        if not table.is_file():
            raise NotAudited(f"exit code {done.returncode}: {done.stdout[-1500:]}")
        found: dict[str, Any] = json.loads(table.read_text())
    return found


def entry(client: Audited, table: dict[str, Any]) -> Entry:
    """Return what the record keeps of a table: verdicts and figures by rule, where each was broken (with one sentence), and what was not
    reached."""
    broken: dict[str, list[dict[str, Any]]] = {}
    for situation in table["situations"]:
        for code, told in situation["rules"].items():
            if told["verdict"] == "broken":
                sentence = next(each["sentence"] for each in situation["findings"] if each["rule"] == code)
                broken.setdefault(code, []).append({"situation": situation["name"], "times": told["broken"], "sentence": sentence})
    return {
        "note": client.note,
        "clients": table["clients"],
        "rules": table["rules"],
        "broken": broken,
        "situations": len(table["situations"]),
        "reached": sum(each["reached"] for each in table["situations"]),
        "not reached": {each["name"]: each["why"] for each in table["situations"] if not each["reached"]},
        "remarks": {each["name"]: each["remarks"] for each in table["situations"] if each["remarks"]},
        "seconds": round(sum(each["seconds"] for each in table["situations"])),
    }


def again(found: Entry, folder: Path) -> Entry:
    """Return an entry of the record whose kept journals were judged anew, because rules have changed since. Situations without a journal
    keep their findings of rules that the client broke there. Needs an interpreter that has groupmock."""
    from groupmock.audit.drive.situation import situations
    from groupmock.audit.offline import audit_journal
    from groupmock.audit.rule import registered
    from groupmock.audit.verdicts import BROKEN, together

    rules, audits, anew = registered(), [], set[str]()
    broken: dict[str, list[dict[str, Any]]] = {}
    for name, situation in situations().items():
        journal = folder / f"{name}.jsonl"
        if not journal.is_file():
            continue
        with journal.open("rb") as file:
            audit = audit_journal(name, file, codes=[code for code in rules if code not in situation.excuses]).audit
        audits.append(audit)
        anew.add(name)
        for code, tally in audit.rules.items():
            if tally.verdict == BROKEN:
                place = {"situation": name, "times": tally.broken, "sentence": tally.findings[0].sentence}
                broken.setdefault(code, []).append(place)
    for code, places in found["broken"].items():
        if before := [place for place in places if place["situation"] not in anew]:
            broken[code] = [*before, *broken.get(code, [])]
    whole = together(audits).rules
    told = {code: {"title": rules[code].title, "severity": rules[code].severity, "verdict": _verdict(found, code, tally.verdict, broken),
                   "kept": max(tally.kept, found["rules"].get(code, {}).get("kept", 0)),
                   "broken": sum(place["times"] for place in broken.get(code, []))} for code, tally in sorted(whole.items())}
    return {**found, "rules": told, "broken": dict(sorted(broken.items())), "anew": len(anew)}


def _verdict(found: Entry, code: str, now: str, broken: dict[str, Any]) -> str:
    """Return the verdict on a rule over situations judged now and before."""
    before = found["rules"].get(code, {}).get("verdict", "not exercised")
    return "broken" if code in broken else "kept" if "kept" in (now, before) else now


def load() -> dict[str, Any]:
    """The record; empty if there is none yet."""
    found: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return found


def put(client: Audited, found: Entry) -> None:
    """Enter what a client did; clients that the catalogue does not know any more go."""
    data = load() | {client.name: found}
    sys.path.append(str(ROOT))  # a script has its own folder there, not the one from which it is called
    from tools.records import save

    save(RECORD, {each.name: data[each.name] for each in AUDITED if each.name in data})
