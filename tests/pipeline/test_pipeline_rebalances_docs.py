"""The documentation pages of `rebalances`, `heartbeats` and `shares` list every column with the description in the job."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "pipeline"


@pytest.mark.parametrize("job", ["rebalances", "heartbeats", "shares"])
def test_the_page_has_the_columns_of_the_job(job: str) -> None:
    from groupmock_pipeline import jobs

    page = (DOCS / f"{job}.md").read_text(encoding="utf-8")
    for name, text in jobs.job(job).COLUMNS.items():
        assert f"| `{name}` | {text} |" in page
