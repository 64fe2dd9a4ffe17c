"""No judge finds a violation in a simulated run, whose case is a plan of `groupmock_clients.simulation.plan` with its `steps`."""

from __future__ import annotations

from found import Case, Property

from groupmock_clients.simulation.plan import plan_of
from groupmock_clients.simulation.simulate import play


def _holds(case: Case) -> None:
    finding = play(plan_of(case), thorough=True).finding
    assert finding is None, f"{finding.judge}: {finding.text}"


SIMULATION = Property("simulation", _holds)
