"""Fixtures: a cluster with a topic of two partitions and a share group, or a function that makes one with other configs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from share_rig import ShareRig


@pytest.fixture
def share() -> ShareRig:
    return ShareRig()


@pytest.fixture
def make_share() -> Callable[..., ShareRig]:
    return ShareRig
