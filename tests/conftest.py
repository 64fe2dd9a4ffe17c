"""Sets up every test: the one hypothesis profile, and the records of a run (`--outcomes`, seconds per folder)."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("properties")  # a find's file says what was not equal
pytest_plugins = ("outcomes", "searching", "stock_fixtures")

# What decides is a function of the tree: the same examples every time, none remembered from a run before, and no deadline that a busy
# machine could miss. Tests say how many examples and how many steps (`searching.examples`); nothing else.
settings.register_profile(
    "decides", derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
# `--search` (tests/support/searching.py): the same, drawn afresh.
settings.register_profile("searches", settings.get_profile("decides"), derandomize=False)
settings.load_profile("decides")

# 5,000 tests are half a million objects that stay until the end. To look through them takes the collector a third of a second, more than
# most tests take, and each test that asks for it would wait so long.
gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
