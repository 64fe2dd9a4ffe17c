"""The hint how to install an extra works in any folder, because it names the source from which pip installed groupmock (PEP 610)."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from cases import for_each

from groupmock_codec.extras import pip_install

ORIGINS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "an index": (None, "pip install 'groupmock[control,watch]'"),
    "a checkout, editable": (
        {"url": "file://{here}", "dir_info": {"editable": True}},
        "pip install -e '{here}[control,watch]'",
    ),
    "a checkout": ({"url": "file://{here}", "dir_info": {}}, "pip install 'groupmock[control,watch] @ file://{here}'"),
    "a repository": (
        {"url": "https://example.org/groupmock.git", "vcs_info": {"vcs": "git", "commit_id": "abc", "requested_revision": "main"}},
        "pip install 'groupmock[control,watch] @ git+https://example.org/groupmock.git@abc'",
    ),
    "a wheel": (
        {"url": "https://example.org/groupmock-1-py3-none-any.whl", "archive_info": {}},
        "pip install 'groupmock[control,watch] @ https://example.org/groupmock-1-py3-none-any.whl'",
    ),
    "a wheel that is gone": ({"url": "file://{here}/gone.whl", "archive_info": {}}, "pip install 'groupmock[control,watch]'"),
}


@for_each(("origin", "hint"), ORIGINS.values(), ids=ORIGINS)
def test_the_hint_names_what_pip_installed_from(
    origin: dict[str, Any] | None, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "a checkout"
    here.mkdir(exist_ok=True)

    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin).replace("{here}", str(here).replace(" ", "%20"))

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    path = str(here) if "-e " in hint else str(here).replace(" ", "%20")
    assert pip_install("control", "watch") == hint.replace("{here}", path)


def test_the_hint_names_the_distribution_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nothing)
    assert pip_install("pytest") == "pip install 'groupmock[pytest]'"
