"""Routes for the findings of the audit, which exist if the cluster was started with `--audit`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..audit.rule import registered
from ..audit.verdicts import VERDICTS, Audit, ClientFindings, Finding
from ..core.steering import NoSuch
from ..text.suggest import hint
from .context import ControlContext
from .route import ControlCall

Verdict = Annotated[str, Meta(pattern=f"^({'|'.join(VERDICTS)})$")]


class Which(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The rules to which an answer is restricted."""

    rule: Annotated[str | None, Meta(description="this rule alone, by its code")] = None
    verdict: Annotated[Verdict | None, Meta(description=f"those with this verdict: {', '.join(VERDICTS)}")] = None
    group: Annotated[str | None, Meta(description="what was found of this group, where it is still known")] = None


class WhichFindings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The findings to which an answer is restricted."""

    rule: Annotated[str | None, Meta(description="of this rule alone, by its code")] = None
    group: Annotated[str | None, Meta(description="of this group alone")] = None
    waived: Annotated[bool, Meta(description="also those that a waiver covers")] = True


class WhichClients(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The rules, group and waivers to which an answer about client libraries is restricted."""

    rule: Annotated[str | None, Meta(description="of this rule alone, by its code")] = None
    group: Annotated[str | None, Meta(description="what was found of this group, where it is still known")] = None
    waived: Annotated[bool, Meta(description="also those that a waiver covers")] = True


class RuleVerdict(msgspec.Struct):
    """A rule, its verdict, and how often clients kept it and broke it. `not_judged` counts the occasions at which the rule could not look,
    by reason. `crashed` says why the verdict is unknown."""

    rule: str
    title: str
    severity: str
    verdict: str
    kept: int
    broken: int
    waived: int
    not_judged: dict[str, int]
    crashed: str | None


class Audited(msgspec.Struct):
    """The worst verdict of all rules, the number of judged groups, and the number of rows read."""

    verdict: str
    groups: int
    rows: int
    rules: list[RuleVerdict]


async def verdicts(context: ControlContext, call: ControlCall) -> Audited:
    """Return the verdict of each rule. Raises NotAudited, NoSuch."""
    wanted: Which = call.query
    audit = context.running.audit(wanted.group)
    _known(audit, wanted.rule)
    known = registered()
    rules = [
        RuleVerdict(
            code,
            known[code].title,
            known[code].severity,
            tally.verdict,
            tally.kept,
            tally.broken,
            tally.waived,
            tally.not_judged,
            tally.crashed,
        )
        for code, tally in audit.rules.items()
        if wanted.rule in (None, code) and wanted.verdict in (None, tally.verdict)
    ]
    return Audited(audit.verdict, audit.groups, audit.rows, rules)


async def findings(context: ControlContext, call: ControlCall) -> list[Finding]:
    """Return the findings that are kept in full, by time. Raises NotAudited, NoSuch."""
    wanted: WhichFindings = call.query
    audit = context.running.audit()
    _known(audit, wanted.rule)
    return [
        each
        for each in audit.findings
        if wanted.rule in (None, each.rule) and wanted.group in (None, each.group) and (wanted.waived or each.waived is None)
    ]


async def clients(context: ControlContext, call: ControlCall) -> list[ClientFindings]:
    """Return the findings, one for each rule and client library. Raises NotAudited, NoSuch."""
    wanted: WhichClients = call.query
    audit = context.running.audit(wanted.group)
    _known(audit, wanted.rule)
    return [each for each in audit.clients if wanted.rule in (None, each.rule) and (wanted.waived or each.waived is None)]


def _known(audit: Audit, rule: str | None) -> None:
    if rule is not None and rule not in audit.rules:
        raise NoSuch(f"no rule {rule!r}{hint(rule, audit.rules)} (`groupmock explain` lists them)")
