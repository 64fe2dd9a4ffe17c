"""Generated exchanges that a release answers differently than our core, grouped by the field that differs, with the shortest exchange
for each kind."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from groupmock_codec import APIS
from tools.fidelity import on_kafka
from tools.fidelity.compare.bytes_run import BytesRun
from tools.fidelity.compare.canonical import Difference, Kind, kind_of
from tools.fidelity.compare.exchange_run import ComparisonRequest, ExchangeRun
from tools.fidelity.families import family
from tools.fidelity.guided.peer import Peer, parse_address

SHRINKS_AT_A_TIME: Final = 8
BYTES_AT_A_TIME: Final = 30
MOST_SHRINKS: Final = 12
"""The number of kinds of differences per family for which a shortest exchange is sought, the commonest first, because each takes a
minute or more."""
Say = Callable[[str], None]


class ExchangeKind(msgspec.Struct, frozen=True):
    """A kind of difference between the answers of a broker and of our core. `shortest` is the text of the shortest exchange that shows
    it, "" if none was sought."""

    api: str
    path: str
    kafka: str
    ours: str
    seeds: tuple[int, ...]
    shortest: str


class FamilyFindings(msgspec.Struct, frozen=True):
    """The findings of one family of generated exchanges on a broker with one class of settings."""

    family: str
    settings: str
    exchanges: int
    unstable: int
    kinds: tuple[ExchangeKind, ...]
    seconds: float


def played(run: on_kafka.BrokerRun, name: str, bootstrap: str, seeds: tuple[int, int], say: Say) -> FamilyFindings:
    """Play the seeds of a family on a running broker that was started with the settings of `run`."""
    if name == "bytes":
        return _bytes(run, bootstrap, seeds, say)
    wanted = ComparisonRequest(name, run.release, seeds, on_kafka.PARALLEL[name])
    with Peer(*parse_address(bootstrap), run.release) as peer:
        result = ExchangeRun(peer, wanted, io.StringIO()).all()
        groups = grouped(result.differences)
        say(f"{name} ({run.settings}): {result.exchanges} exchanges, {len(groups)} kinds of difference")
        texts = _shortest(peer, name, groups)
    kinds = tuple(_kind(found, texts.get(kind, "")) for kind, found in groups.items())
    return FamilyFindings(name, run.settings, result.exchanges, len(result.unstable), kinds, result.seconds)


def grouped(differences: Sequence[Difference]) -> dict[Kind, list[Difference]]:
    """Group differences by kind, the commonest kind first."""
    groups: dict[Kind, list[Difference]] = {}
    for each in differences:
        groups.setdefault(kind_of(each), []).append(each)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def _kind(found: Sequence[Difference], shortest: str) -> ExchangeKind:
    first = found[0]
    api = "-" if first.key is None else f"{APIS[first.key].name if first.key in APIS else first.key} v{first.version}"
    seeds = tuple(sorted({each.seed for each in found if each.seed is not None}))
    real, ours = (_named(one, other) for one, other in ((first.real, first.ours), (first.ours, first.real)))
    return ExchangeKind(api, kind_of(first)[1], _brief(real), _brief(ours), seeds, shortest)


def _named(value: Any, other: Any) -> Any:
    """Return a list of structs with names, without those that the other side has too, so that of a long list only the differences are
    shown."""
    if isinstance(value, list) and isinstance(other, list) and all(isinstance(each, dict) and "name" in each for each in (*value, *other)):
        return [each for each in value if each not in other]
    return value


def _brief(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 160 else f"{text[:157]}..."


def _shortest(peer: Peer, name: str, groups: dict[Kind, list[Difference]]) -> dict[Kind, str]:
    """Shrink the shortest exchange of each kind of difference, several at a time, because a play mostly waits."""

    def shrunk(kind: Kind) -> str:
        seeds = {each.seed for each in groups[kind] if each.seed is not None}
        seed = min(seeds, key=lambda seed: (len(family(name)(seed, peer.release).steps), seed))
        said = io.StringIO()
        ExchangeRun(peer, ComparisonRequest(name, peer.release, (seed, seed + 1), 1, shrink=True), said).all()
        return said.getvalue()

    kinds = list(groups)[:MOST_SHRINKS]
    with ThreadPoolExecutor(SHRINKS_AT_A_TIME) as pool:
        return dict(zip(kinds, pool.map(shrunk, kinds), strict=True))


def _bytes(run: on_kafka.BrokerRun, bootstrap: str, seeds: tuple[int, int], say: Say) -> FamilyFindings:
    """Play hostile inputs, which are not shrunk because each is a single request."""
    result = BytesRun(run.release, *parse_address(bootstrap), BYTES_AT_A_TIME).all(*seeds)
    groups = grouped(result.differences)
    say(f"bytes ({run.settings}): {result.exchanges} inputs, {len(groups)} kinds of difference")
    kinds = tuple(_kind(found, "") for found in groups.values())
    return FamilyFindings("bytes", run.settings, result.exchanges, len(result.unstable), kinds, result.seconds)
