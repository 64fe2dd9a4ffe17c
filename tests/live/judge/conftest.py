"""Provides the fixture `release` for this folder. A missing oracle is an error with a reason, because this folder runs only on request."""

from __future__ import annotations

import pytest

from .oracle import RELEASES, WITH_STREAMS_GROUPS, NoOracle, classpath


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """Return a release whose classes are available."""
    return _available(request.param)


@pytest.fixture(params=WITH_STREAMS_GROUPS)
def streams_release(request: pytest.FixtureRequest) -> str:
    """Return a release with streams groups whose classes are available."""
    return _available(request.param)


def _available(release: str) -> str:
    try:
        classpath(release)
    except NoOracle as missing:
        pytest.fail(str(missing), pytrace=False)
    return release
