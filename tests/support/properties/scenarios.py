"""Every scenario on the virtual clock keeps the invariants, loses no record, and gives plausible figures.

Case: `scenario`, its name; `protocol` and `sizes`: the fields of Protocol and Sizes.
"""

from __future__ import annotations

from dataclasses import asdict

from found import Case, Property

from groupmock_clients.scenarios.catalogue import SCENARIOS
from groupmock_clients.scenarios.invariants import broken
from groupmock_clients.scenarios.measure import measure
from groupmock_clients.scenarios.play import Protocol, Scenario, Sizes, Speaks, play
from groupmock_clients.scenarios.virtual import open_stage


def case_of(scenario: Scenario, protocol: Protocol, sizes: Sizes) -> Case:
    """Return the case as JSON values."""
    return {"scenario": scenario.name, "protocol": asdict(protocol), "sizes": sizes.as_fields()}


def _holds(case: Case) -> None:
    scenario = next(each for each in SCENARIOS if each.name == case["scenario"])
    bounces = tuple(Speaks(each) for each in case["protocol"]["bounces"])
    protocol = Protocol(**{**case["protocol"], "bounces": bounces})
    sizes = Sizes(**case["sizes"])
    with open_stage(sizes, protocol) as stage:
        seen = play(scenario, sizes, protocol, stage)
    figures = measure(seen.rows)
    assert [str(each) for each in broken(seen)] == [], f"{protocol}: {figures}"
    assert figures.lost == 0, f"{protocol}: {figures}"
    assert figures.rounds <= figures.generations, f"{protocol}: {figures}"
    assert figures.unowned_s >= 0 and figures.undelivered_s >= 0 and figures.converge_s >= 0, f"{protocol}: {figures}"


SCENARIO = Property("scenario", _holds)
