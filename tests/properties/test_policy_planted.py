"""Mistakes planted in the cooperative policy, each of which ignores one leader rule (docs/how-to/cooperative.md), break the expected
invariant."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from properties.policies import MACHINES, DesignThree, DesignTwo, PolicyMachine

from groupmock_clients.cooperative.policy import Loss, Round

RUNS = 400


class Fault(NamedTuple):
    """A planted mistake: `Round.name` is replaced by `fault`, and `machines` must find it by an invariant that matches `by`."""

    name: str
    fault: Callable[..., Any]
    machines: tuple[type[PolicyMachine], ...]
    by: str


def _last_claim_wins(self: Round) -> set[Any]:
    """Decide rule 0 as if two members never claimed the same partition."""
    claimed = set()
    for member in self.members:
        for partition in self.claims[member].owned:
            claimed.add(partition)
            if partition in self.universe and partition[0] in self.claims[member].topics:
                self.held[partition] = member
            else:
                self.revoked[member].add(partition)
    return claimed


def _decisions_with_double_claims(original: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(self: Round, new: Any, timeout: int) -> Any:
        found = original(self, new, timeout)
        return {
            member: type(one)(one.assigned | (self.claims[member].owned - one.revoked), one.gained, one.revoked, one.timeout_ms)
            for member, one in found.items()
        }

    return faulty


def _loss_of_anything(self: Round, partition: Any) -> Loss:
    """Report a loss also for a partition that no member held after the last round."""
    try:
        return _ORIGINAL_LOSS(self, partition)
    except KeyError:
        return Loss(self.now + self.rules.patience_ms, "")


def _one_shared_deadline(self: Round, partition: Any) -> Loss:
    found = _ORIGINAL_LOSS(self, partition)
    if self.memory is not None and self.memory.lost:
        return Loss(min(loss.deadline for loss in self.memory.lost.values()), found.owner)
    return found


def _waits_anew(self: Round) -> bool:
    """Restart the first member's wait in every round before the first non-empty Assignment."""
    if self.rules.first == "assign" or not self.rules.patience_ms or any(claim.owned for claim in self.claims.values()):
        return False
    self.memory = None
    return True


def _whoever_claims_keeps(self: Round) -> set[Any]:
    """Decide rule 0 without checking that the claimant still subscribes to the topic."""
    for partition in [each for claim in self.claims.values() for each in claim.owned if each in self.universe]:
        claimants = [member for member in self.members if partition in self.claims[member].owned]
        self.held[partition] = self.keeper(partition, claimants)
        for member in claimants:
            if member != self.held[partition]:
                self.revoked[member].add(partition)
    for member in self.members:
        self.revoked[member] |= self.claims[member].owned - self.universe
    return {partition for claim in self.claims.values() for partition in claim.owned}


_ORIGINAL_LOSS = Round.loss
_NEVER: Callable[..., bool] = lambda self, *_: False  # noqa: E731  # a value like the other faults

FAULTS = {
    "rule 0: of two claims both stand": Fault("settle", _last_claim_wins, MACHINES, "I1"),
    "rule 0: what is no longer subscribed to is kept": Fault("settle", _whoever_claims_keeps, MACHINES, "I6"),
    "rule 2: the first wait never ends": Fault("waits", _waits_anew, (DesignTwo, DesignThree), "I2|I3"),
    "rule 4: what was given up on request counts as lost": Fault("in_transfer", _NEVER, (DesignTwo, DesignThree), "I2|I3"),
    "rule 5: what did not arrive counts as lost": Fault("undelivered", _NEVER, (DesignTwo, DesignThree), "I2b"),
    "rule 6: one deadline for all that is lost": Fault("loss", _one_shared_deadline, (DesignTwo, DesignThree), "I5b"),
    "rule 7: newcomers take nothing that is kept": Fault("welcome", _NEVER, (DesignTwo, DesignThree), "I5"),
    "rule 7: names mean nothing": Fault("_namesake", lambda self, member: None, (DesignTwo, DesignThree), "I5"),
    "rule 10: nobody is made to join again": Fault("again", _NEVER, (DesignTwo, DesignThree), "I6"),
    "Design III moves everything at once": Fault("choose", lambda self, moves, handing_over: list(moves.values()), (DesignThree,), "I6"),
}
SEARCH = settings(max_examples=RUNS, stateful_step_count=50, phases=[Phase.generate])
CASES = [(name, machine) for name, fault in FAULTS.items() for machine in fault.machines]


@pytest.mark.parametrize(("name", "machine"), CASES, ids=[f"{machine.__name__}: {name}" for name, machine in CASES])
def test_random_histories_find(name: str, machine: type[PolicyMachine], monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    monkeypatch.setattr(Round, fault.name, fault.fault)
    if fault.name == "in_transfer":
        monkeypatch.setattr(Round, "loss", _loss_of_anything)
    if fault.fault is _last_claim_wins:
        monkeypatch.setattr(Round, "_decisions", _decisions_with_double_claims(Round._decisions))
    with pytest.raises(AssertionError) as found:
        run_state_machine_as_test(machine, settings=SEARCH)
    assert re.search(fault.by, str(found.value)), found.value
