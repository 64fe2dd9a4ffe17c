"""docs/pipeline.md is what the jobs and the measured figures say."""

from __future__ import annotations

from pathlib import Path

from groupmock_pipeline import jobs
from tools.pages import pipeline_page


def test_the_page_is_current(tree: Path) -> None:
    text = (tree / "docs" / "pipeline.md").read_text()
    assert text == pipeline_page.page(), "run `python -m tools.pages.pipeline_page`"


def test_every_job_has_a_page_of_its_own(tree: Path) -> None:
    assert [name for name in jobs.names() if not (tree / "docs" / "pipeline" / f"{name}.md").exists()] == []
