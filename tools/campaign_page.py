"""Writes docs/reference/pipeline/campaign.md out of docs/data: `python tools/campaign_page.py`.

The data is of `groupmock pipeline campaign docs/data/campaign.toml LAKE --json docs/data/characteristics.json`.
"""

from __future__ import annotations

from pathlib import Path

from groupmock_pipeline.campaign.page import page

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Write it."""
    target = DOCS / "reference" / "pipeline" / "campaign.md"
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    after = page(DOCS)
    target.write_text(after, encoding="utf-8")
    print(f"docs/reference/pipeline/campaign.md: {'unchanged' if after == before else 'written'}")


if __name__ == "__main__":
    main()
