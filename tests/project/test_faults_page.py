"""The page of fault rules lists every kind of fault."""

from __future__ import annotations

from groupmock.faults.kind import all_kinds
from groupmock.faults.plan import ready_plans
from tools.pages import faults_page


def test_the_page_names_every_kind_and_every_plan() -> None:
    text = faults_page.text()
    assert all(f"| `{kind}`" in text for kind in all_kinds())
    assert all(f"### `{name}`" in text for name in ready_plans())
