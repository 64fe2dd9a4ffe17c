"""Measures for docs/kafka/releases.md what each release of Kafka brought, from its jars, and since when groupmock has served it, from git.

python -m tools.releases.history                 # every release of VERSIONS; writes tools/records/releases.json
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Final

import msgspec

from tools.broker_configs.__main__ import definitions
from tools.oracle import classpath
from tools.records import RECORDS, save
from tools.runs import ROOT

from .broker_facts import error_codes
from .proposal import PROFILES, ErrorCode, short
from .schemas import Schema, clients_jar, read_jar

VERSIONS: Final = ("2.8.2", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0")
"""The versions of Kafka that are measured, each compared with the one before it."""
FILE: Final = RECORDS / "releases.json"
LISTENERS: Final = {"broker", "zkBroker"}
"""The names of the listeners to which clients connect, with KRaft and with ZooKeeper."""


class ReleaseRow(msgspec.Struct, frozen=True):
    """One row of the table of releases: what a release brought. `dated`: the newest file in its kafka-clients jar. The APIs are those of
    a broker's clients; `errors` and `configs` (of brokers) are the new ones. `served` and `until` are the days on which groupmock got
    and lost the profile."""

    version: str
    dated: str
    apis: tuple[str, ...]
    raised: tuple[str, ...]
    lowest_raised: int
    gone: tuple[str, ...]
    errors: tuple[str, ...]
    configs: int
    configs_gone: int
    served: str
    until: str


class ReleaseFacts(msgspec.Struct, frozen=True):
    """The facts about a version that are compared with those of the version before."""

    apis: dict[str, Schema]
    errors: tuple[ErrorCode, ...]
    configs: frozenset[str]


def measured(version: str) -> ReleaseFacts:
    found = read_jar(clients_jar(classpath(version), version))
    apis = {schema.api: schema for name, schema in found.items() if name.endswith("Request") and schema.listeners & LISTENERS}
    return ReleaseFacts(apis, error_codes(version), frozenset(row[0] for row in definitions(version)))


def rows() -> Iterator[ReleaseRow]:
    """Yield a row of the table for each version. The first one only begins the history, so that nothing in it is new."""
    before: ReleaseFacts | None = None
    for version in VERSIONS:
        now = measured(version)
        yield row(version, dated(version), before or now, now, days(version))
        before = now


def row(version: str, day: str, before: ReleaseFacts, now: ReleaseFacts, served: tuple[str, str]) -> ReleaseRow:
    """Return the row about the differences between a version and the one before it."""
    both = [(schema, before.apis[name]) for name, schema in _by_key(now.apis) if name in before.apis]
    known = {each.name for each in before.errors}
    return ReleaseRow(
        version,
        day,
        tuple(f"{name} ({schema.key})" for name, schema in _by_key(now.apis) if name not in before.apis),
        tuple(f"{new.api} {new.versions.highest}" for new, old in both if new.versions.highest > old.versions.highest),
        sum(new.versions.lowest > old.versions.lowest for new, old in both),
        tuple(f"{name} ({schema.key})" for name, schema in _by_key(before.apis) if name not in now.apis),
        tuple(f"{each.code} {each.name}" for each in now.errors if each.name not in known),
        len(now.configs - before.configs),
        len(before.configs - now.configs),
        *served,
    )


def _by_key(apis: Mapping[str, Schema]) -> list[tuple[str, Schema]]:
    return sorted(apis.items(), key=lambda item: item[1].key)


def dated(version: str) -> str:
    """Return the date of the newest file in the kafka-clients jar of a version."""
    with zipfile.ZipFile(clients_jar(classpath(version), version)) as jar:
        return date(*max(each.date_time for each in jar.infolist())[:3]).isoformat()


def days(version: str, tree: Path = ROOT) -> tuple[str, str]:
    """Return the dates on which the profile of a release came into the tree and left it, by git. "": it did not. The folder of profiles
    had other names before."""
    name = f"kafka_{short(version).replace('.', '_')}.py"
    found = []
    for what in ("A", "D"):
        command = ["git", "log", f"--diff-filter={what}", "--format=%as", "--", f"*profiles/{name}"]
        found.append(subprocess.run(command, capture_output=True, text=True, check=True, cwd=tree).stdout.split())
    came, went = found
    return min(came, default=""), "" if (tree / PROFILES / name).is_file() else max(went, default="")


def load() -> list[ReleaseRow]:
    return msgspec.json.decode(FILE.read_bytes(), type=list[ReleaseRow])


def main() -> int:
    save(FILE, msgspec.to_builtins(list(rows())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
