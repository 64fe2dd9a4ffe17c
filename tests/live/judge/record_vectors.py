"""Records tests/data/codec/*.jsonl.gz: bytes that Kafka's own classes wrote, with the JSON of each message.

    python -m tests.live.judge.record_vectors       (in the checkout; needs java and the shared folder; about two minutes)

Per type and version the files have every edge case of `groupmock_codec.samples`, written by the newest release that has the version, and
RANDOM random messages that the releases made themselves, one after the other. The files are deterministic: a second run changes nothing.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any, Final

from groupmock_codec import APIS, Codec
from groupmock_codec.declare import Message
from groupmock_codec.kafka_json import to_kafka_json
from groupmock_codec.samples import edge_cases
from tools.runs import ROOT

from . import names
from .oracle import RELEASES, ask, offered

WHERE: Final = ROOT / "tests" / "data" / "codec"
RANDOM: Final = 12

Question = dict[str, Any]


def having(kind: str, version: int) -> list[str]:
    """Return the releases that have this version, oldest first."""
    ranges = {release: offered(release)["types"].get(kind) for release in RELEASES}
    return [release for release, found in ranges.items() if found and found[0] <= version <= found[1]]


def questions(kind: str, codec: Codec[Message], version: int) -> list[tuple[str, Question]]:
    """Return the questions for one type and version, with the release that each is for."""
    releases = having(kind, version)
    dice = random.Random(f"{kind} {version}")
    asked: list[tuple[str, Question]] = []
    for _name, message in edge_cases(codec.message, version, codec.flexible(version), dice):
        shown = to_kafka_json(message, version, codec.flexible(version), every_tag=True)
        asked.append((releases[-1], {"type": kind, "version": version, "json": names.theirs(releases[-1], kind, shown)}))
    for number in range(RANDOM):
        asked.append((releases[number % len(releases)], {"type": kind, "version": version, "random": number}))
    return asked


def record(path: Path, asked: list[tuple[str, Question]], answers: dict[str, list[dict[str, Any]]]) -> int:
    """Write one API's file; returns the number of vectors."""
    lines = []
    for release, question in asked:
        answer = answers[release].pop(0)
        assert "error" not in answer, (release, question, answer)
        shown = names.ours(release, question["type"], question["json"] if "json" in question else answer["json"])
        lines.append({"type": question["type"], "version": question["version"], "release": release, "hex": answer["hex"], "json": shown})
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return len(lines)


def main() -> None:
    """Record the vectors of all APIs into tests/data/codec. One Java process per release answers everything."""
    plan: dict[str, list[tuple[str, Question]]] = {}
    for key in APIS:
        api = APIS[key]
        halves = ((f"{api.name}Request", api.request), (f"{api.name}Response", api.response))
        versions = api.versions.every
        plan[api.stem] = [each for kind, codec in halves for version in versions for each in questions(kind, codec, version)]
    everything = [each for asked in plan.values() for each in asked]
    answers = {release: ask(release, [question for who, question in everything if who == release]) for release in RELEASES}
    WHERE.mkdir(parents=True, exist_ok=True)
    total = sum(record(WHERE / f"{stem}.jsonl.gz", asked, answers) for stem, asked in plan.items())
    print(f"{total} vectors, {sum(path.stat().st_size for path in WHERE.glob('*.jsonl.gz'))} bytes in {WHERE}")


if __name__ == "__main__":
    main()
