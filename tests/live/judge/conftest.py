"""Provides the fixture `release` for this folder. A missing oracle is an error with a reason, because this folder runs only on request."""

from __future__ import annotations

import pytest

from .oracle import RELEASES, NoOracle, classpath


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Return a release whose classes are available."""
    found: str = request.param
    try:
        classpath(found)
    except NoOracle as missing:
        pytest.fail(str(missing), pytrace=False)
    return found
