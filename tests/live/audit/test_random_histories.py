"""Random fault histories with stock clients never make the audit accuse a client that keeps a rule.

GROUPMOCK_HISTORIES is the number per library (20), GROUPMOCK_FIRST_SEED the first seed (1). Journals with findings stay under build/audit;
tests/support/audit_known.toml lists the real findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import pytest
from audit_histories import Played, drawn, play_all, table
from stock_members import LIBRARIES

from groupmock.audit.verdicts import Audit, together
from tools.runs import ROOT

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Warnings are no failures here, because client libraries warn when their broker returns errors.
    pytest.mark.usefixtures("sockets_are_found_where_they_were_left"),
]

COUNT: Final = int(os.environ.get("GROUPMOCK_HISTORIES", "20"))
FIRST: Final = int(os.environ.get("GROUPMOCK_FIRST_SEED", "1"))
AT_ONCE: Final = 6
FOLDER: Final = ROOT / "build" / "audit"


@pytest.fixture(scope="module")
def audits() -> Iterator[dict[str, Audit]]:
    """Yield the audits of all histories by library, and print their table at the end."""
    found: dict[str, Audit] = {}
    yield found
    print(table(found))


@pytest.mark.parametrize("library", LIBRARIES)
def test_nobody_is_blamed_who_kept_the_rules(library: str, audits: dict[str, Audit]) -> None:
    histories = (drawn(library, seed) for seed in range(FIRST, FIRST + COUNT))
    played: list[Played] = list(play_all(histories, FOLDER, AT_ONCE))
    audits[library] = together(each.audit for each in played)
    assert {code: tally.crashed for code, tally in audits[library].rules.items() if tally.crashed} == {}
    assert [line for done in played for line in done.findings(known=False)] == []
