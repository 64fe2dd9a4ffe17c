"""Sets up every test: the single hypothesis profile, and the outcomes of a run (`--outcomes`, seconds per folder)."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

# pytest has to rewrite the assertions of this package, too, so that the file about a failed example shows the unequal values.
pytest.register_assert_rewrite("properties")
pytest_plugins = ("outcomes", "searching", "stock_fixtures")

# Tests that decide must depend only on the source tree: the same examples in every run, none from an earlier run, and no deadline that a
# busy machine could miss. Tests set only the number of examples and steps (`searching.examples`).
settings.register_profile(
    "decides", derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
# The profile for `--search` (tests/support/searching.py) is the same with fresh random draws.
settings.register_profile("searches", settings.get_profile("decides"), derandomize=False)
settings.load_profile("decides")

# 5,000 tests keep half a million objects alive, and one garbage collection of them takes a third of a second, longer than most tests.
# Therefore the collector is off.
gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
