"""The pages about campaign and report agree with the program and the recorded data."""

from __future__ import annotations

from pathlib import Path

import msgspec

from groupmock_pipeline.campaign.campaign_plan import read_plan, stretches
from groupmock_pipeline.campaign.table_row import FIGURES, WHAT
from groupmock_pipeline.report.sections import SECTIONS
from tools.pages.campaign_page import DATA, PLAN
from tools.records import RECORDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
REBALANCES = 100_000


def test_the_data_is_of_the_whole_plan() -> None:
    rows = msgspec.json.decode((RECORDS / DATA).read_bytes())
    file = RECORDS / PLAN
    wanted: dict[tuple[object, ...], int] = {}
    for each in stretches(read_plan(str(file), {}), PLAN):
        sizes = {name: getattr(each.cell.sizes, name) for name in WHAT[4:]}
        key = (each.cell.scenario.name, str(each.cell.protocol), *sizes.values())
        wanted[key] = wanted.get(key, 0) + each.last - each.first + 1
    found = {(row["scenario"], f"{row['protocol']}/{row['client']}", *(row[name] for name in WHAT[4:])): row["plays"] for row in rows}
    assert found == wanted
    assert sum(row["rebalances"] for row in rows) >= REBALANCES
    assert [row for row in rows if row["failed"] or row["broken"] or row["lost_max"]] == []
    assert all(row[f"{name}_min"] <= row[f"{name}_median"] <= row[f"{name}_p99"] <= row[f"{name}_max"] for row in rows for name in FIGURES)


def test_the_report_page_names_every_section() -> None:
    text = (DOCS / "reference" / "pipeline" / "report.md").read_text(encoding="utf-8")
    named = [line.split(" | ")[:2] for line in text.splitlines() if line.startswith("| ")]
    assert named[1:] == [[f"| {each.title}", f"`{each.table}`"] for each in SECTIONS]
