"""The results of an audit are a verdict for each rule with its counts, and findings with the rows that show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

KEPT: Final = "kept"
BROKEN: Final = "broken"
UNKNOWN: Final = "unknown"
NOT_JUDGED: Final = "not judged"
NOT_EXERCISED: Final = "not exercised"
WAIVED: Final = "waived"
VERDICTS: Final = (BROKEN, UNKNOWN, WAIVED, KEPT, NOT_JUDGED, NOT_EXERCISED)
"""The possible verdicts on a rule, the worst one first."""
SHOWN: Final = 20
"""At most this many findings of one rule in one group are kept in full; the others are only counted."""
REASONS: Final = 8
"""At most this many reasons why occasions were not judged are told apart for one rule; further ones count as OTHER_REASONS."""
OTHER_REASONS: Final = "of other reasons"


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A finding that a client did something that a rule forbids."""

    rule: Annotated[str, Meta(description="code of the rule")]
    severity: Annotated[str, Meta(description="error or warning")]
    group: Annotated[str | None, Meta(description="group id; null: a connection's")] = None
    member: Annotated[str | None, Meta(description="who: client id and four characters of the member id")] = None
    member_id: Annotated[str | None, Meta(description="member id")] = None
    client_id: Annotated[str | None, Meta(description="as the client calls itself")] = None
    t: Annotated[int, Meta(description="when, ns since the journal's epoch_ns")]
    sentence: Annotated[str, Meta(description="what the client did")]
    instead: Annotated[str, Meta(description="what would have been right")]
    rows: Annotated[tuple[int, ...], Meta(description="numbers of the rows that show it")] = ()
    waived: Annotated[str | None, Meta(description="the reason of the waiver that covers it")] = None


class Tally(msgspec.Struct, kw_only=True):
    """The counts of one rule, in one group or in the whole journal. `not_judged` counts the occasions at which the rule could not look, by
    reason."""

    kept: int = 0
    broken: int = 0
    waived: int = 0
    not_judged: dict[str, int] = {}
    crashed: str | None = None
    findings: list[Finding] = []

    @property
    def verdict(self) -> str:
        """Return the verdict of the rule. Broken comes before unknown, because a crash takes no finding back."""
        if self.broken > self.waived:
            return BROKEN
        if self.crashed is not None:
            return UNKNOWN
        if self.waived:
            return WAIVED
        if self.kept:
            return KEPT
        return NOT_JUDGED if self.not_judged else NOT_EXERCISED

    def leave(self, reason: str, times: int = 1) -> None:
        """Count occasions at which the rule could not look."""
        known = reason in self.not_judged or len(self.not_judged) < REASONS
        place = reason if known else OTHER_REASONS
        self.not_judged[place] = self.not_judged.get(place, 0) + times

    def add(self, other: Tally) -> None:
        """Add the counts of another tally to this one."""
        self.kept += other.kept
        self.broken += other.broken
        self.waived += other.waived
        self.crashed = self.crashed or other.crashed
        for reason, times in other.not_judged.items():
            self.leave(reason, times)
        self.findings.extend(other.findings[: max(0, SHOWN - len(self.findings))])


class Audit(msgspec.Struct, kw_only=True):
    """The results of one audit, rule by rule. `rules` has every applied rule by code, `groups` is the number of groups, `rows` the number
    of rows read, and `holes` has a sentence for each place where rows were missing."""

    rules: dict[str, Tally]
    groups: int = 0
    rows: int = 0
    holes: list[str] = []

    @property
    def verdict(self) -> str:
        """Return the worst verdict of the rules, in which a broken warning does not count as broken."""
        found = {tally.verdict for tally in self.rules.values()}
        return next((verdict for verdict in VERDICTS if verdict in found), NOT_EXERCISED)

    @property
    def findings(self) -> list[Finding]:
        """Return all findings that are kept in full, in the order of time."""
        return sorted((each for tally in self.rules.values() for each in tally.findings), key=lambda each: (each.t, each.rows, each.rule))


def together(audits: Iterable[Audit]) -> Audit:
    whole = Audit(rules={})
    for each in audits:
        for code, tally in each.rules.items():
            whole.rules.setdefault(code, Tally()).add(tally)
        whole.groups += each.groups
        whole.rows += each.rows
        whole.holes.extend(each.holes)
    return whole
