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
LIBRARIES: Final = 64
"""At most this many versions of client libraries are told apart for one rule; further ones count as unknown."""
NAMED: Final = 20
"""At most this many members and groups are named for one rule and client library."""


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A finding that a client did something that a rule forbids."""

    rule: Annotated[str, Meta(description="code of the rule")]
    severity: Annotated[str, Meta(description="error or warning")]
    group: Annotated[str | None, Meta(description="group id; null: a connection's")] = None
    member: Annotated[str | None, Meta(description="who: client id and four characters of the member id")] = None
    member_id: Annotated[str | None, Meta(description="member id")] = None
    client_id: Annotated[str | None, Meta(description="as the client calls itself")] = None
    library: Annotated[str | None, Meta(description="client_software_name of ApiVersions; null: unknown")] = None
    version: Annotated[str | None, Meta(description="client_software_version of ApiVersions; null: unknown")] = None
    t: Annotated[int, Meta(description="when, ns since the journal's epoch_ns")]
    sentence: Annotated[str, Meta(description="what the client did")]
    instead: Annotated[str, Meta(description="what would have been right")]
    rows: Annotated[tuple[int, ...], Meta(description="numbers of the rows that show it")] = ()
    waived: Annotated[str | None, Meta(description="the reason of the waiver that covers it")] = None


class ClientFindings(msgspec.Struct, kw_only=True):
    """All findings about one rule and one client library, which a reader sees as one: the first and the last of them, and their count.
    Findings that a waiver covers are apart."""

    rule: Annotated[str, Meta(description="code of the rule")]
    severity: Annotated[str, Meta(description="error or warning")]
    library: Annotated[str | None, Meta(description="client_software_name of ApiVersions; null: unknown")]
    version: Annotated[str | None, Meta(description="client_software_version of ApiVersions; null: unknown")]
    waived: Annotated[str | None, Meta(description="the reason of the waiver that covers them")]
    count: Annotated[int, Meta(description="how often it happened")]
    first: Annotated[Finding, Meta(description="the first of them")]
    last: Annotated[Finding, Meta(description="the last of them")]
    members: Annotated[list[str], Meta(description=f"who did it, the first {NAMED}: members, or client ids where no member is known")]
    groups: Annotated[list[str], Meta(description=f"where it happened, the first {NAMED} groups")]
    more_members: Annotated[bool, Meta(description="true if there are further members")] = False
    more_groups: Annotated[bool, Meta(description="true if there are further groups")] = False

    @classmethod
    def of(cls, finding: Finding) -> ClientFindings:
        """Return the findings of a client library that consist of this one."""
        who = finding.member or finding.client_id
        return cls(
            rule=finding.rule, severity=finding.severity, library=finding.library, version=finding.version, waived=finding.waived,
            count=1, first=finding, last=finding, members=[who] if who else [], groups=[finding.group] if finding.group is not None else [],
        )  # fmt: skip

    @property
    def client(self) -> tuple[str | None, str | None]:
        """The client library and its version, each None if unknown."""
        return self.library, self.version

    def add(self, other: ClientFindings) -> None:
        """Add findings about the same rule and client library."""
        self.count += other.count
        self.first = min(self.first, other.first, key=_when)
        self.last = max(self.last, other.last, key=_when)
        self.more_members |= _named(self.members, other.members) or other.more_members
        self.more_groups |= _named(self.groups, other.groups) or other.more_groups


def _named(names: list[str], others: list[str]) -> bool:
    """Add names to the list as far as it may grow, and return whether any were left out."""
    new = [name for name in others if name not in names]
    room = NAMED - len(names)
    names.extend(new[:room])
    return len(new) > room


def _when(finding: Finding) -> tuple[int, tuple[int, ...]]:
    return finding.t, finding.rows


class Tally(msgspec.Struct, kw_only=True):
    """The counts of one rule, in one group or in the whole journal. `not_judged` counts the occasions at which the rule could not look, by
    reason. `clients` has the findings summed up by client library, and `findings` the first single ones."""

    kept: int = 0
    broken: int = 0
    waived: int = 0
    not_judged: dict[str, int] = {}
    crashed: str | None = None
    clients: list[ClientFindings] = []
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

    def found(self, finding: Finding) -> None:
        """Count a finding, and keep it in full if it is one of the first."""
        self.broken += 1
        self.waived += finding.waived is not None
        if len(self.findings) < SHOWN:
            self.findings.append(finding)
        self._sum_up(ClientFindings.of(finding))

    def _sum_up(self, findings: ClientFindings) -> None:
        known = {(each.client, each.waived): each for each in self.clients}
        if (findings.client, findings.waived) not in known and len(known) >= LIBRARIES:
            findings = msgspec.structs.replace(findings, library=None, version=None)
        same = known.get((findings.client, findings.waived))
        if same is None:
            # The lists are copied, because tallies of groups are added up several times while the audit goes on.
            copied = msgspec.structs.replace(findings, members=list(findings.members), groups=list(findings.groups))
            self.clients.append(copied)
        else:
            same.add(findings)

    def add(self, other: Tally) -> None:
        """Add the counts of another tally to this one."""
        self.kept += other.kept
        self.broken += other.broken
        self.waived += other.waived
        self.crashed = self.crashed or other.crashed
        for reason, times in other.not_judged.items():
            self.leave(reason, times)
        for each in other.clients:
            self._sum_up(each)
        self.findings.extend(other.findings[: max(0, SHOWN - len(self.findings))])


class Audit(msgspec.Struct, kw_only=True):
    """The results of one audit, rule by rule. `rules` has every applied rule by code, `groups` is the number of groups, `rows` the number
    of rows read, and `holes` has a sentence for each place where rows were missing or contradicted earlier ones."""

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

    @property
    def clients(self) -> list[ClientFindings]:
        """Return the findings, one for each rule and client library: those that no waiver covers first, errors before warnings, and then
        in the order of time."""
        return in_order(each for tally in self.rules.values() for each in tally.clients)


def in_order(clients: Iterable[ClientFindings]) -> list[ClientFindings]:
    """Return findings in the order in which they are shown."""
    return sorted(clients, key=lambda each: (each.waived is not None, each.severity != "error", *_when(each.first), each.rule))


def together(audits: Iterable[Audit]) -> Audit:
    whole = Audit(rules={})
    for each in audits:
        for code, tally in each.rules.items():
            whole.rules.setdefault(code, Tally()).add(tally)
        whole.groups += each.groups
        whole.rows += each.rows
        whole.holes.extend(each.holes)
    return whole
