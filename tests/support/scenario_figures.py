"""Made-up results of scenarios for tests of tables and pages."""

from __future__ import annotations

from typing import Any

from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.results import ScenarioResult, ScenarioResults


def figures(moved: int = 3, undelivered_s: float = 1.25, **more: float) -> dict[str, float]:
    plain = {"generations": 2, "rounds": 2, "late": 0, "unowned_s": 0.5, "duplicates": 0, "lost": 0, "converge_s": 1.0}
    return {**plain, "moved": moved, "undelivered_s": undelivered_s, **more}


def results(*found: ScenarioResult, stage: str = "live") -> ScenarioResults:
    libraries = {"aiokafka": "0.14.0"} if stage == "live" else {}
    return ScenarioResults(stage=stage, sizes=Sizes().as_fields(), libraries=libraries, results=list(found))


def one(scenario: str = "scale-up", protocol: str = "design-2", client: str = "aiokafka", **more: Any) -> ScenarioResult:
    return ScenarioResult(scenario=scenario, protocol=protocol, client=client, **({"figures": figures()} | more))
