"""An audit's report has the journals that were read, the verdict of every rule, and notices. It is the same for every output form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from ..version import __version__
from .rule import Rule, registered
from .subjects import api_name
from .verdicts import BROKEN, NOT_JUDGED, UNKNOWN, VERDICTS, WAIVED, Audit, Finding, Tally, together

PAGES: Final = "https://github.com/groupmock/groupmock/blob/main/docs/kafka/"
"""The address of the pages that rules cite, for readers without a checkout."""


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
    """One journal and its findings. `notices` say what is wrong with the journal itself."""

    name: str
    audit: Audit
    run: str = ""
    profile: str = ""
    product: str = ""
    notices: list[str] = []


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

    def findings(self) -> Iterator[tuple[Source, Finding]]:
        """Yield the findings that are kept in full, with waived findings last."""
        found = [(source, finding) for source in self.sources for finding in source.audit.findings]
        yield from sorted(found, key=lambda each: each[1].waived is not None)


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
