"""The `release` fixture. A missing oracle is an error with a sentence, never a silent skip: this folder runs only when asked for."""

from __future__ import annotations

import pytest

from .oracle import RELEASES, NoOracle, classpath


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """A release whose classes can be asked."""
    found: str = request.param
    try:
        classpath(found)
    except NoOracle as missing:
        pytest.fail(str(missing), pytrace=False)
    return found
