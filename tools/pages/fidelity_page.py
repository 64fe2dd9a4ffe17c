"""Write the page about fidelity: comparisons with Kafka, their differences, and the reasons for those that remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tools.fidelity.compare.counts import FamilyResult
from tools.fidelity.compare.recorded_differences import Recorded, recorded
from tools.records import RECORDS
from tools.rights.__main__ import FILE as RIGHTS
from tools.rights.__main__ import RightsRun

from .markdown import cell, notice, table

NOTICE: Final = notice("fidelity", "fidelity.jsonl")
ABOUT: Final = """
Generated exchanges were played on Apache Kafka and on groupmock's core and compared answer by answer and field by field: every list
order, the choice of leaders, echoed ids, and when an answer came. A difference counts if it occurs in three plays of three. The page
[differential.md](differential.md) says how the comparison is done and how to run it again, against Kafka or another broker. The page
[clients.md](clients.md) compares stock clients on Kafka and groupmock, [mutations.md](mutations.md) says whether the check would notice a
mistake, and [bad-bytes.md](bad-bytes.md) is about hostile bytes.
""".strip()
FAMILIES: Final = {
    "groups": "groups, offsets, group admin",
    "consumers": "consumer groups",
    "migrations": "transactions beside groups that change their type",
    "regexes": "regular expressions beside topics that change",
    "lies": "assignments and claims that are untrue",
    "log": "data plane",
    "transactions": "transactions",
    "shares": "share groups",
    "moves": "share groups on two nodes, whose leaders and coordinators move",
    "streams": "streams groups",
    "bytes": "bad bytes",
}
"""Maps a family of exchanges to its subject."""


class CodecRun(msgspec.Struct):
    """A line of tools/records/codec.jsonl, about messages that Kafka's own classes and our codec exchanged."""

    date: str
    what: str
    release: str
    seed: int
    messages: int
    types_and_versions: int
    types: int


def text() -> str:
    return page(results(RECORDS / "fidelity.jsonl"), codec_runs(RECORDS / "codec.jsonl"), "Fidelity", ABOUT, rights_runs(RIGHTS))


def results(file: Path) -> list[FamilyResult]:
    """Return the recorded runs in a log, or none if the file is missing."""
    return [msgspec.json.decode(line, type=FamilyResult) for line in _lines(file)]


def codec_runs(file: Path) -> list[CodecRun]:
    """Return the recorded runs in which Kafka's own classes checked the codec."""
    return [msgspec.json.decode(line, type=CodecRun) for line in _lines(file)]


def rights_runs(file: Path) -> list[RightsRun]:
    """Return the recorded runs under generated access control lists (`python -m tools.rights --save`)."""
    return [msgspec.json.decode(line, type=RightsRun) for line in _lines(file)]


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines() if file.exists() else []


def page(runs: Sequence[FamilyResult], codec: Sequence[CodecRun], title: str, about: str, rights: Sequence[RightsRun] = ()) -> str:
    """Return the page about runs against Apache Kafka, or against another server."""
    parts = [NOTICE, f"# {title}", about, *_summary(runs), *_runs(runs), *_rights(rights), *_known(runs), *_codec(codec), *_apis(runs)]
    return "\n\n".join(parts) + "\n"


def _summary(runs: Sequence[FamilyResult]) -> list[str]:
    lines = []
    for release in _releases(runs):
        mine = [run for run in runs if run.release == release]
        exchanges, unstable = sum(run.exchanges for run in mine), sum(len(run.unstable) for run in mine)
        known = {name for run in mine for name in run.recorded}
        unexplained = sum(len(run.differences) for run in mine)
        requests, shaky = sum(run.requests for run in mine), f"{unstable} ({_share(unstable, exchanges)})"
        lines.append(list(map(str, (mine[0].broker, exchanges, requests, len(known), shaky, unexplained))))
    return [_as_table(["broker", "exchanges", "requests compared", "kinds of recorded differences seen", "unstable", "unexplained"], lines)]


def _runs(runs: Sequence[FamilyResult]) -> list[str]:
    rows = [
        [
            run.broker,
            FAMILIES.get(run.family, run.family),
            run.settings,
            f"{run.seeds[0]}..{run.seeds[1] - 1}",
            str(run.exchanges),
            f"{run.seconds:.0f}",
            f"{run.per_second:.1f}",
            str(run.noisy),
            ", ".join(map(str, run.unstable)) or "0",
            str(len(run.differences)),
        ]
        for run in runs
    ]
    head = ["broker", "family", "settings", "seeds", "exchanges", "seconds", "a second", "played again", "unstable seeds", "unexplained"]
    about = (
        "Each line of the table is one run against one warm broker; the same seeds generate the same exchanges again. An exchange during "
        "which the machine was too slow for meaningful times is played again."
    )
    return ["## Runs", about, _as_table(head, rows)]


def _rights(runs: Sequence[RightsRun]) -> list[str]:
    if not runs:
        return []
    about = (
        "A principal without rights of its own asks a secured Kafka (SASL, StandardAuthorizer) and the core. Before every exchange of six "
        "requests its rules are drawn anew: ALLOW and DENY, literal, prefixed and for every name, on topics, groups, transactional ids and "
        "the cluster. Every served API that asks for a right is drawn ([secured listeners](../kafka/security.md#authorisation); "
        "`python -m tools.rights`). The same seeds draw the same exchanges again."
    )
    rows = [
        [
            run.broker,
            f"{run.seeds[0]}..{run.seeds[1] - 1}",
            *map(str, (run.exchanges, run.requests, len(run.apis), run.refused, run.different)),
        ]
        for run in runs
    ]
    head = ["broker", "seeds", "exchanges", "requests", "APIs", "refused for a missing right", "answers that differ"]
    return ["## Rights", about, _as_table(head, rows)]


def _known(runs: Sequence[FamilyResult]) -> list[str]:
    seen: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for name, count in run.recorded.items():
            seen[run.release, name] += count
    parts = ["## Recorded differences"]
    if not recorded():
        return [*parts, "None."]
    rows = [
        [f"`{one.id}`", FAMILIES.get(one.family, one.family), " ".join(one.reason.split()), ", ".join(_where(one, seen))]
        for one in recorded()
    ]
    return [*parts, _as_table(["id", "family", "what and why", "releases (answers that had it)"], rows)]


def _where(one: Recorded, seen: Counter[tuple[str, str]]) -> Iterable[str]:
    return (f"{release} ({seen[release, one.id]})" for release in one.releases)


def _codec(codec: Sequence[CodecRun]) -> list[str]:
    if not codec:
        return []
    rows = [
        [run.release, run.what, str(run.messages), str(run.types_and_versions), str(run.types), str(run.seed), run.date]
        for run in sorted(codec, key=lambda run: (run.what, run.release))
    ]
    total = {what: sum(run.messages for run in codec if run.what == what) for what in sorted({run.what for run in codec})}
    told = "; ".join(f"{what}: {count:,}" for what, count in total.items())
    about = f"Kafka's own message classes and our codec agree on every message. Messages were compared in three ways: {told}."
    return ["## Codec", about, _as_table(["classes of", "what", "messages", "types and versions", "types", "seed", "date"], rows)]


def _apis(runs: Sequence[FamilyResult]) -> list[str]:
    parts = ["## Requests compared, by API and version"]
    for release in _releases(runs):
        cells: dict[str, dict[int, int]] = {}
        for run in runs:
            for api, versions in run.apis.items() if run.release == release else ():
                mine = cells.setdefault(api, {})
                for version, (count, _) in versions.items():
                    mine[int(version)] = mine.get(int(version), 0) + count
        rows = [[api, " ".join(f"v{version}: {count}" for version, count in sorted(mine.items()))] for api, mine in sorted(cells.items())]
        parts += [f"### Kafka {release}", _as_table(["API", "how often, by version"], rows)]
    return parts


def _releases(runs: Sequence[FamilyResult]) -> list[str]:
    return sorted({run.release for run in runs}, reverse=True)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def _as_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(table(head, ([*map(cell, row)] for row in rows)))
