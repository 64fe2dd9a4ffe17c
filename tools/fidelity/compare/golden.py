"""The golden corpus records scripts with the answers of real Kafka, so that the comparison can be repeated without Java.

A file `FAMILY-RELEASE-SETTINGS.jsonl.gz` holds one play per line. `record` chooses, of many plays, those that together show the most;
`replay_corpus` plays them again on the core at the recorded times, with the ids that the broker drew.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Final

import msgspec

from groupmock_clients.probe.language.exchange import Act, Send

from ..generated.script import Script, ending, key_of, version_of
from ..generated.settings_classes import known
from ..generated.transcript import Event, Transcript
from ..guided.core_player import replay
from ..guided.guided_player import Played
from .canonical import EARLY_MS, TIMED_LATE_MS, Difference, canonical, compare
from .counts import outcome

PLAYED_ON_CORE: Final = (
    "groups", "consumers", "migrations", "regexes", "lies", "log", "transactions", "shares", "moves", "streams", "exchanges"
)


@dataclass
class Golden:
    script: Script
    transcript: Transcript


class _Line(msgspec.Struct):
    """A line of a corpus file, in which the exchange is written as text."""

    script: str
    transcript: Transcript


Feature = tuple[object, ...]


def file_name(family: str, release: str, settings: str) -> str:
    return f"{family}-{release}-{settings}.jsonl.gz"


# -- reading -----------------------------------------------------------------------------------------------------------


def load(folder: Path, release: str | None = None, family: str | None = None, settings: str | None = None) -> Iterator[Golden]:
    """Yield the recorded plays, optionally of one release, family or class of settings."""
    for file in sorted(folder.glob(file_name(family or "*", release or "*", settings or "*"))):
        with gzip.open(file, "rb") as lines:
            for line in lines:
                yield read(line)


def read(text: str | bytes) -> Golden:
    """Parse a line of the corpus into a play."""
    line = msgspec.json.decode(text, type=_Line)
    return Golden(Script.read(line.script), line.transcript)


def _written(play: Golden) -> bytes:
    return msgspec.json.encode(_Line(play.script.text(), play.transcript))


def replay_corpus(
    folder: Path, release: str, families: Iterable[str] = PLAYED_ON_CORE, limit: int | None = None, settings: str | None = None
) -> list[Difference]:
    """Replay the corpus of a release on the current core, and return the differences, at most `limit`."""
    found: list[Difference] = []
    for family in families:
        for golden in load(folder, release, family, settings):
            found += differences(golden)[:1]
            if limit is not None and len(found) >= limit:
                return found
    return found


def differences(golden: Golden) -> list[Difference]:
    """Replay one recorded play on the core and return the differences."""
    return compare(golden.script, golden.transcript, replay(golden.script, golden.transcript), late_ms=TIMED_LATE_MS, early_ms=EARLY_MS)


# -- recording ---------------------------------------------------------------------------------------------------------


def golden_of(script: Script, played: Played) -> Golden | None:
    """Return a play for the corpus, or None unless the core's answers are equal also when it is replayed."""
    if played.real.stopped is not None:
        return None
    golden = Golden(script, _tidy(script, played.real))
    return None if differences(golden) else golden


def difference_of(script: Script, played: Played) -> Golden | None:
    """Return a play in which the core differs, or None unless it also differs when it is replayed."""
    golden = Golden(script, _tidy(script, played.real))
    return golden if differences(golden) else None


def _tidy(script: Script, real: Transcript) -> Transcript:
    """Remove from the answers what belongs to other scripts, and round times to a tenth of a millisecond."""
    steps = (*script.steps, *ending(script, known(script.release, script.settings).versions))
    replace = msgspec.structs.replace
    events = [
        replace(event, answer=canonical(step, event, real.facts), sent_ms=round(event.sent_ms, 1), answered_ms=_tenth(event))
        for step, event in zip(steps, real.events, strict=real.stopped is None)
    ]
    return replace(real, events=events)


def _tenth(event: Event) -> float | None:
    return None if event.answered_ms is None else round(event.answered_ms, 1)


def features(golden: Golden) -> set[Feature]:
    """Return the features of a play, of which the corpus is to have many: the outcomes per API and version, each also with the preceding
    outcome, and pauses and closed connections."""
    found: set[Feature] = set()
    before: object = "start"
    steps = (*golden.script.steps, *ending(golden.script, known(golden.script.release, golden.script.settings).versions))
    for step, event in zip(steps, golden.transcript.events, strict=False):
        if isinstance(step, Send):
            seen = outcome(event)
            key, version = key_of(step), version_of(step)
            found |= {(key, version, seen), (key, seen, before)}
            if event.answered_ms is not None and event.answered_ms - event.sent_ms > 100:
                found.add((key, version, seen, "late"))
            before = (key, seen)
        else:
            what = step.verb if isinstance(step, Act) else type(step).__name__
            found.add((what, before))
            before = what if isinstance(step, Act) else before
    states = [group["group_state"] for event in golden.transcript.events if event.answer for group in _groups(event)]
    return found | {("states", *dict.fromkeys(states))}


def _groups(event: Event) -> list[dict[str, str]]:
    groups = (event.answer or {}).get("groups")
    return [one for one in groups if isinstance(one, dict) and "group_state" in one] if isinstance(groups, list) else []


def choose(plays: list[Golden], count: int) -> list[Golden]:
    """Choose those plays for the golden corpus that together show most features. Each next one adds the most that few have shown so far,
    which only shrinks as others are chosen, so that only the best candidate has to be weighed again."""
    shown = [features(one) for one in plays]
    often = Counter(feature for each in shown for feature in each)
    have: Counter[Feature] = Counter()

    def worth(number: int) -> float:
        return sum(1 / (often[feature] * (1 + have[feature]) ** 2) for feature in shown[number])

    heap = [(-worth(number), number) for number in range(len(plays))]
    heapify(heap)
    chosen: list[Golden] = []
    while heap and len(chosen) < count:
        _, number = heappop(heap)
        now = worth(number)
        if heap and now < -heap[0][0]:
            heappush(heap, (-now, number))
            continue
        chosen.append(plays[number])
        have.update(shown[number])
    return sorted(chosen, key=lambda one: one.script.seed)


def save_one(folder: Path, play: Golden) -> Path:
    """Write one play as FAMILY-RELEASE-SETTINGS-SEED.json."""
    script = play.script
    file = folder / f"{script.family}-{script.release}-{script.settings}-{script.seed}.json"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(_written(play), indent=1) + b"\n")
    return file


def save(folder: Path, plays: list[Golden]) -> Path:
    """Write one class of plays to its file, in the same bytes for the same plays."""
    first = plays[0].script
    file = folder / file_name(first.family, first.release, first.settings)
    folder.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:
        for one in plays:
            packed.write(_written(one) + b"\n")
    return file
