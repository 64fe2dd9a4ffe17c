"""Stock clients through random fault histories: a client that keeps a rule is never called broken.

GROUPMOCK_HISTORIES: how many per library (20); GROUPMOCK_FIRST_SEED: from which seed on (1). Journals in which something was found stay
under build/audit; what is known to be real is in tests/support/audit_known.toml.
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
    pytest.mark.filterwarnings("default"),  # what libraries leave behind when their broker fails them is theirs
    pytest.mark.usefixtures("sockets_are_found_where_they_were_left"),
]

COUNT: Final = int(os.environ.get("GROUPMOCK_HISTORIES", "20"))
FIRST: Final = int(os.environ.get("GROUPMOCK_FIRST_SEED", "1"))
AT_ONCE: Final = 6
FOLDER: Final = ROOT / "build" / "audit"


@pytest.fixture(scope="module")
def audits() -> Iterator[dict[str, Audit]]:
    """Of all histories of a library together; the table is printed at the end."""
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
