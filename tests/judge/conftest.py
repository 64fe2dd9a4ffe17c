"""The `release` fixture. A missing oracle is an error with a sentence, never a silent skip: this folder runs only when asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from .oracle import RELEASES, NoOracle, classpath

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder has the marker."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.judge)


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """A release whose classes can be asked."""
    found: str = request.param
    try:
        classpath(found)
    except NoOracle as missing:
        pytest.fail(str(missing), pytrace=False)
    return found
