"""An audit's report has the journals that were read, the verdict of every rule, and notices. It is the same for every output form."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from groupmock_codec.units import NS_PER_S

from ..text.printable import one_line
from ..version import __version__
from .rule import ERROR, Rule, registered
from .subjects import api_name
from .verdicts import BROKEN, NOT_JUDGED, UNKNOWN, VERDICTS, WAIVED, Audit, ClientFindings, Finding, Tally, together

PAGES: Final = "https://github.com/groupmock/groupmock/blob/main/docs/kafka/"
"""The address of the pages that rules cite, for readers without a checkout."""


MEMBERS: Final = 4
"""At most this many members of a finding are named in a line of text."""
AROUND_S: Final = 1.0
"""The seconds before and after a finding that a picture of its moment shows."""


class RuleFacts(msgspec.Struct, kw_only=True):
    """The texts of a rule and the sources that it cites."""

    code: str
    title: str
    severity: str
    what: str
    why: str
    fix: str
    source: list[str]
    observes: Annotated[list[str], Meta(description="names of the APIs whose requests or answers it looks at")]
    implies: list[str]


class Source(msgspec.Struct, kw_only=True):
    """A journal with the findings of its audit. `path` is its file, None if no file is kept. `interrupted` is true if Ctrl-C ended the
    audit. `notices` say what is wrong with the journal itself."""

    name: str
    audit: Audit
    run: str = ""
    profile: str = ""
    product: str = ""
    path: str | None = None
    interrupted: bool = False
    notices: list[str] = []


class ReportedFinding(NamedTuple):
    """A finding as readers of a report see it, which says what one client library did against one rule in all journals. `places` has the
    journals in which it happened, with the findings in each, and `whole` sums them up."""

    whole: ClientFindings
    places: list[tuple[Source, ClientFindings]]

    @property
    def first(self) -> Finding:
        """The first occasion in the first journal."""
        return self.places[0][1].first

    @property
    def client(self) -> str:
        """The client library by its own name, for texts."""
        return " ".join(one_line(name) for name in self.whole.client if name) or "an unknown client library"

    @property
    def often(self) -> str:
        """Return how often and when it happened, for texts."""
        if self.whole.count == 1:
            return "once"
        if len(self.places) > 1:
            return f"{self.whole.count} times in {len(self.places)} journals"
        return f"{self.whole.count} times from {seconds(self.first)} to {seconds(self.places[0][1].last)}"

    @property
    def members(self) -> str:
        """Return a few of the members by name and the number of the others, for texts."""
        names = [one_line(name) for name in self.whole.members]
        hidden = len(names) - MEMBERS
        more = f" and {'at least ' if self.whole.more_members else ''}{hidden} more" if hidden > 0 else ""
        return ", ".join(names[:MEMBERS]) + more

    def timeline(self) -> str | None:
        """Return the command that draws the first occasion, or None if no file of the journal is kept."""
        source = self.places[0][0]
        if source.path is None or one_line(source.path) != source.path:
            return None
        group, at = self.first.group, self.first.t / NS_PER_S
        only = ["--group", group] if group is not None and one_line(group) == group else []
        window = ["--from", f"{max(0.0, at - AROUND_S):.3f}", "--to", f"{at + AROUND_S:.3f}"]
        return shlex.join(["groupmock", "timeline", source.path, "--audit", *only, *window, "-o", "moment.html"])


class Report(msgspec.Struct, kw_only=True):
    """The report of an audit. `notices` are sentences about the audit itself, for example about expired waivers."""

    sources: list[Source]
    rules: dict[str, RuleFacts]
    notices: list[str] = []
    groupmock: str = __version__

    @property
    def whole(self) -> Audit:
        """Return the audits of all journals as one."""
        return together(each.audit for each in self.sources)

    @property
    def broken(self) -> bool:
        """Return whether a rule of severity error was broken."""
        return any(
            tally.verdict == BROKEN and self.rules[code].severity == "error"
            for each in self.sources
            for code, tally in each.audit.rules.items()
        )

    @property
    def unknown(self) -> bool:
        """Return whether a rule crashed or a journal was incomplete."""
        return any(
            each.notices or each.audit.holes or any(tally.verdict == UNKNOWN for tally in each.audit.rules.values())
            for each in self.sources
        )

    def findings(self) -> list[ReportedFinding]:
        """Return one finding for each rule and client library: those that no waiver covers first, and errors before warnings."""
        return reported(self.sources)


def reported(sources: Iterable[Source]) -> list[ReportedFinding]:
    """Sum up the findings of several journals, one for each rule and client library."""
    found: dict[tuple[str | None, ...], ReportedFinding] = {}
    for source in sources:
        for each in source.audit.clients:
            key = (each.rule, each.library, each.version, each.waived)
            if key in found:
                found[key].whole.add(each)
                found[key].places.append((source, each))
            else:
                whole = msgspec.structs.replace(each, members=list(each.members), groups=list(each.groups))
                found[key] = ReportedFinding(whole, [(source, each)])
    return sorted(found.values(), key=lambda each: (each.whole.waived is not None, each.whole.severity != ERROR))


def facts_of(rule: type[Rule]) -> RuleFacts:
    return RuleFacts(
        code=rule.code, title=rule.title, severity=rule.severity, what=rule.what, why=rule.why, fix=rule.fix, source=list(rule.source),
        observes=[api_name(key) for key in rule.observes()], implies=list(rule.implies),
    )  # fmt: skip


def report_of(sources: Iterable[Source], notices: Iterable[str] = ()) -> Report:
    """Return the report of audits that have finished."""
    listed = list(sources)
    known = registered()
    codes = sorted({code for each in listed for code in each.audit.rules})
    return Report(sources=listed, rules={code: facts_of(known[code]) for code in codes}, notices=list(notices))


def link_of(source: str) -> str | None:
    """Return the address of a page that a rule cites, or None if the source is a class of Kafka."""
    page, _, anchor = source.partition("#")
    if source.startswith("KIP-"):
        return f"https://cwiki.apache.org/confluence/display/KAFKA/{source.replace(' ', '+')}" if source[4:].isdigit() else None
    return f"{PAGES}{page}" + (f"#{anchor}" if anchor else "") if page.endswith(".md") else None


def counts(audit: Audit) -> dict[str, int]:
    """Return the number of rules for each verdict, the worst verdict first, without verdicts that no rule has."""
    verdicts = [tally.verdict for tally in audit.rules.values()]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}


def number(how_many: int, of: str) -> str:
    """Return a number with its noun, such as `1 row` or `2 rows`."""
    return f"{how_many} {of}{'' if how_many == 1 else 's'}"


def seconds(finding: Finding) -> str:
    """Return the time of a finding in the run."""
    return f"{finding.t / NS_PER_S:.3f} s"


def told(tally: Tally) -> str:
    """Describe the counts of one rule in a few words."""
    parts = [f"kept {number(tally.kept, 'time')}"] if tally.kept else []
    if tally.broken > tally.waived:
        parts.append(f"broken {number(tally.broken - tally.waived, 'time')}")
    if tally.waived:
        parts.append(f"{tally.waived} {WAIVED}")
    if tally.crashed:
        parts.append(tally.crashed)
    unseen = [f"{times} {NOT_JUDGED}: {reason}" for reason, times in tally.not_judged.items()]
    return "; ".join([", ".join(parts), *unseen] if parts else unseen)
