"""The pages about the pipeline agree with its code and its recorded runs."""

from __future__ import annotations

from groupmock_pipeline import jobs
from tools.pages import pipeline_page


def test_every_job_has_a_page_of_its_own() -> None:
    assert [name for name in jobs.names() if not (pipeline_page.JOBS / f"{name}.md").exists()] == []
