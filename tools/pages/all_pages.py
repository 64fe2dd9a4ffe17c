"""The pages that are written by programs, and where each stands: `tools.pages.NAME_page.text()` is what page NAME should say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from tools.runs import ROOT

PAGES: Final[dict[str, str]] = {
    "readme": "README.md",
    "bad_bytes": "docs/bad-bytes.md",
    "campaign": "docs/pipeline/campaign.md",
    "clients": "docs/clients.md",
    "control": "docs/control.md",
    "faults": "docs/faults.md",
    "fidelity": "docs/fidelity.md",
    "journal": "docs/journal.md",
    "mutations": "docs/mutations.md",
    "peers": "docs/peers.md",
    "pipeline": "docs/pipeline.md",
    "scenarios": "docs/scenarios.md",
    "settings": "docs/settings.md",
    "states": "docs/states.md",
}
"""Name -> file, from the root."""


def path(name: str) -> Path:
    """Where that page stands."""
    return ROOT / PAGES[name]


def current(name: str) -> str:
    """What it should say now."""
    text: str = import_module(f"tools.pages.{name}_page").text()
    return text


def written(name: str) -> bool:
    """Write it where it says something else; did it?"""
    file, text = path(name), current(name)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.write_text(text, encoding="utf-8")
    return True
