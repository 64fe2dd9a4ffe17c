"""The generated pages with their files, and the function that writes a page if it has changed. `tools.pages.NAME_page.text()` returns the
current text of page NAME."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from tools.runs import ROOT

PAGES: Final[dict[str, str]] = {
    "admin_tools": "docs/proof/admin-tools.md",
    "apis": "docs/reference/apis.md",
    "async_broker": "broker/groupmock/inprocess/async_broker.py",
    "audit_rules": "docs/reference/audit-rules.md",
    "bad_bytes": "docs/proof/bad-bytes.md",
    "campaign": "docs/reference/pipeline/campaign.md",
    "client_audit": "docs/proof/client-audit.md",
    "clients": "docs/proof/clients.md",
    "compare": "docs/start/compare.md",
    "control": "docs/reference/control.md",
    "faults": "docs/how-to/faults.md",
    "fidelity": "docs/proof/fidelity.md",
    "journal": "docs/reference/journal.md",
    "judge": "docs/proof/judge.md",
    "languages": "docs/how-to/other-languages.md",
    "mutations": "docs/proof/mutations.md",
    "ownership_picture": "docs/images/ownership-maps.svg",
    "package_stub": "broker/groupmock/__init__.pyi",
    "peers": "docs/proof/peers.md",
    "pipeline": "docs/how-to/pipeline.md",
    "python": "docs/reference/python.md",
    "releases": "docs/kafka/releases.md",
    "read_the_story": "docs/how-to/read-the-story.md",
    "scenarios": "docs/proof/scenarios.md",
    "secured_clients": "docs/proof/secured-clients.md",
    "seed_data_schema": "docs/reference/seed-data.schema.json",
    "setting_keywords": "broker/groupmock/inprocess/setting_keywords.py",
    "settings": "docs/reference/settings.md",
    "simulation": "docs/proof/simulation.md",
    "speed": "docs/proof/speed.md",
    "states": "docs/reference/states.md",
    "transactions": "docs/proof/transactions.md",
    "suites": "docs/proof/suites.md",
}
"""Maps a page's name to its file, relative to the root."""


def path(name: str) -> Path:
    return ROOT / PAGES[name]


def current(name: str) -> str:
    text: str = import_module(f"tools.pages.{name}_page").text()
    return text


def outdated(name: str) -> list[str]:
    """Return a sentence for each record of the page that is older than its rules. `make docs` cannot make a record anew."""
    module = import_module(f"tools.pages.{name}_page")
    return list(module.outdated()) if hasattr(module, "outdated") else []


def written(name: str) -> bool:
    """Write the page if it has changed, and return whether it has."""
    file, text = path(name), current(name)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.write_text(text, encoding="utf-8")
    return True
