"""What every test shares: the one hypothesis profile, and what a run writes down of itself (`--outcomes`, seconds per folder)."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ("outcomes", "stock_fixtures")

# What decides is a function of the tree: the same examples every time, none remembered from a run before, and no deadline that a busy
# machine could miss. Tests say how many examples and how many steps; nothing else.
settings.register_profile(
    "decides", derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
settings.load_profile("decides")
