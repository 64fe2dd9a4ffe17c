"""The report on a release as data, and as Markdown for the developer who adds the release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from tools.pages.markdown import cell, table

from .broker_changes import ApiChange, BrokerFindings, ConfigChange
from .exchange_kinds import ExchangeKind, FamilyFindings
from .message_changes import MessageChange
from .probe_rows import ProbeFindings
from .stock_clients import ClientFindings

NOTHING: Final = "Nothing."
LONGEST: Final = 240
"""The length to which the Markdown report cuts a line of an exchange or an answer. The JSON file has all of it."""


class Findings(msgspec.Struct, kw_only=True):
    """The findings of all parts of a run of tools.releases. A part that was not asked for is None."""

    version: str
    beside: str
    profile: str
    began: str
    seconds: dict[str, float]
    against_codec: tuple[MessageChange, ...]
    """The messages of the codec that the release has in a different form."""
    against_beside: tuple[MessageChange, ...]
    """The messages that are new in the release, or different from those of its predecessor."""
    broker: BrokerFindings | None = None
    probe: ProbeFindings | None = None
    exchanges: tuple[FamilyFindings, ...] | None = None
    clients: ClientFindings | None = None
    patch: str = ""
    patch_says: str = ""
    by_hand: tuple[str, ...] = ()


def markdown(found: Findings) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Findings) -> Iterator[str]:
    took = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in found.seconds.items())
    yield f"# Apache Kafka {found.version} beside {found.beside}"
    yield ""
    yield f"Written by `python -m tools.releases {found.version} --beside {found.beside}`, begun {found.began}. It took {took}."
    yield f"groupmock is judged with the profile `{found.profile}`. What to do with this: docs/how-to/next-release.md."
    yield from _part("Messages that differ from the codec's", _messages(found.against_codec))
    yield from _part(f"Messages that differ from {found.beside}'s, or are new", _messages(found.against_beside))
    if found.broker is not None:
        yield from _broker(found.broker, found.beside, found.version)
    if found.probe is not None:
        yield from _part("Rows of the probe that the broker breaks", _probe(found.probe, found.beside))
    if found.exchanges is not None:
        yield from _part("Generated exchanges that differ", _exchanges(found.exchanges))
    if found.clients is not None:
        yield from _part("Stock clients", _clients(found.clients, found.version))
    yield from _part("The patch", _patch(found))


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    shown = list(lines)
    yield from shown or [NOTHING]


def _messages(changes: Iterable[MessageChange]) -> Iterator[str]:
    for change in changes:
        cites = f" ({', '.join(change.cites)})" if change.cites else ""
        yield f"- **{change}**{', ' + change.flexible if change.flexible else ''}{cites}"
        for field in change.fields:
            yield f"    - `{'.'.join(field.path) or change.name}` {field.what}: {field.says}"


def _broker(found: BrokerFindings, beside: str, version: str) -> Iterator[str]:
    changed = [each for each in found.apis if each.before != each.after]
    yield from _part("Advertised APIs whose versions change", _apis(changed, beside, version))
    yield from _part("Feature levels", (f"- {each}" for each in found.features))
    yield from _part(
        "Error codes that the codec does not know",
        (f"- {each.code} {each.name}{', retriable' if each.retriable else ''}" for each in found.errors),
    )
    counts = [f"{kind}s {one} -> {other}" for kind, (one, other) in found.shown.items()]
    yield from _part("Configs", (f"DescribeConfigs shows, {beside} -> {version}: {', '.join(counts)}.", "", *_configs(found.configs)))
    yield from _part("Values that are refused otherwise", _refusals(found, beside, version))
    unknown = (f"- of a {kind}: {', '.join(f'`{name}`' for name in names)}" for kind, names in found.unknown_here.items() if names)
    yield from _part("Configs that groupmock's tables lack", unknown)
    about = f"The Java consumer's default of `group.protocol`: {found.group_protocol}."
    yield from _part("Defaults of clients that decide much", (about,))
    yield from _part(
        "Broker configs about what groupmock serves that are no setting of groupmock", (f"- `{each}`" for each in found.ignored)
    )
    yield from _part("All advertised APIs", _apis(found.apis, beside, version))


def _apis(apis: Iterable[ApiChange], beside: str, version: str) -> Iterator[str]:
    rows = [[str(each.key), each.name, *(span or "-" for span in (each.before, each.after, each.codec, each.profile))] for each in apis]
    if rows:
        yield from table(["key", "API", beside, version, "codec", "profile"], rows)


def _configs(changes: Iterable[ConfigChange]) -> Iterator[str]:
    for change in changes:
        what = "gone" if change.after is None else "new" if change.before is None else f"{change.before} ->"
        yield f"- of a {change.kind}: `{change.name}` {what}{f' {change.after}' if change.after is not None else ''}"


def _refusals(found: BrokerFindings, beside: str, version: str) -> Iterator[str]:
    rows = []
    for each in found.refusals:
        names = ", ".join(f"`{name}`" for name in each.names)
        rows.append([each.kind, names, f"`{each.name}={each.value}`", cell(each.before), cell(each.after)])
    if rows:
        yield from table(["of a", "configs", "for instance", beside, version], rows)


def _probe(found: ProbeFindings, beside: str) -> Iterator[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.rows.items())
    yield f"Judged as Kafka {found.judged_as}: {counts}. A broken dialogue was repeated twice before it counted."
    yield from (f"{count} of the rows are unknown: {reason}." for reason, count in found.unknown.items())
    yield ""
    for each in found.broken:
        told = "".join(f" `{name}={value}`" for name, value in each.settings.items())
        yield f"- **{each.row}** {each.says}"
        yield f"    - {beside}: {each.before}{f', settings{told}' if told else ''}"
        yield f"    - {', '.join(each.exchanges[:6])}{' ...' if len(each.exchanges) > 6 else ''}"
        if each.step:
            yield f"    - `{each.place}`: `{each.step}`"
        yield from (f"    - {' '.join(problem.split())[:LONGEST]}" for problem in each.problems[:4])


def _exchanges(families: Iterable[FamilyFindings]) -> Iterator[str]:
    for each in families:
        yield f"### {each.family}, settings {each.settings}"
        yield ""
        yield f"{each.exchanges} exchanges in {each.seconds:.0f} s, {each.unstable} unstable, {len(each.kinds)} kinds of difference."
        yield ""
        for number, kind in enumerate(each.kinds, 1):
            yield from _kind(number, kind)


def _kind(number: int, kind: ExchangeKind) -> Iterator[str]:
    seeds = ", ".join(map(str, kind.seeds[:8])) + (" ..." if len(kind.seeds) > 8 else "")
    yield f"{number}. **{kind.api}** `{kind.path}`: Kafka {kind.kafka}, ours {kind.ours} ({len(kind.seeds)} seeds: {seeds})"
    yield ""
    if kind.shortest:
        yield from ("```", *(line[:LONGEST] for line in kind.shortest.rstrip().splitlines()), "```", "")


def _clients(found: ClientFindings, version: str) -> Iterator[str]:
    yield f"Compiled against {version}: {', '.join(found.programs)}."
    yield ""
    files = {problem.file for problem in found.problems}
    yield f"{len(files)} files do not compile." if files else "All compile."
    yield ""
    for problem in found.problems:
        yield f"- `{problem.file}`:{problem.line}: {problem.says}: `{problem.source}`"
    yield from (f"- {line}" for line in found.runs)


def _patch(found: Findings) -> Iterator[str]:
    if found.patch:
        yield f"`{found.patch}`: {f'`git apply --check` refuses it: {found.patch_says}' if found.patch_says else '`git apply` takes it.'}"
    yield from (f"- by hand: {each}" for each in found.by_hand)
