"""Every rule judges its own examples correctly, and a wrong client is caught only by the rule that it breaks and by rules that this rule
implies."""

from __future__ import annotations

import pytest
from audit_examples import from_a_file, played

from groupmock.audit.auditor import Auditor, audit
from groupmock.audit.rule import registered
from groupmock.audit.verdicts import BROKEN, KEPT

RULES = registered()
KEEPING, BREAKING = (
    [(code, name) for code, rule in RULES.items() for name in rule.examples() if name.startswith(verdict)] for verdict in ("kept", "broken")
)


@pytest.mark.parametrize("code", RULES)
def test_a_rule_stands_in_a_file_with_its_code_and_what_it_asks(code: str) -> None:
    module = RULES[code].__module__.rpartition(".")[2]
    assert module.startswith(code.lower().replace("-", "_") + "_")


@pytest.mark.parametrize(("code", "which"), KEEPING)
def test_the_client_that_keeps_it(code: str, which: str) -> None:
    found = audit(played(RULES[code], which))
    assert [str(finding) for finding in found.findings] == []
    assert found.rules[code].verdict == KEPT
    assert {tally.crashed for tally in found.rules.values()} == {None}


@pytest.mark.parametrize(("code", "which"), BREAKING)
def test_the_client_that_breaks_it(code: str, which: str) -> None:
    rows = played(RULES[code], which)
    found = audit(rows)
    assert found.rules[code].verdict == BROKEN
    assert {tally.crashed for tally in found.rules.values()} == {None}
    broken = {each.rule for each in found.findings}
    assert broken - {code} <= set(RULES[code].implies), [str(each) for each in found.findings]
    numbers = {row.seq for row in rows}
    for finding in found.findings:
        assert finding.sentence and finding.instead and finding.rows and numbers.issuperset(finding.rows)


@pytest.mark.parametrize(("code", "which"), KEEPING + BREAKING)
def test_a_file_is_judged_as_the_run_was(code: str, which: str) -> None:
    rows = played(RULES[code], which)
    live, offline = Auditor(), Auditor()
    for row in rows:
        live.feed(row)
    for read in from_a_file(rows):
        offline.feed(read)
    assert live.close() == offline.close()
