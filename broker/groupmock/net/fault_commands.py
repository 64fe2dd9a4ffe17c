"""Commands that change fault rules are rows of the journal like the core's commands, but the owner of the sockets runs them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from ..core.dice import Dice
from ..core.events import Command
from ..core.steering.register import COMMANDS, Arguments, SteeringCommand, checked, load, steers
from ..faults.plan import make_rule
from ..faults.registry import RuleRegistry

RuleName = Annotated[str, Meta(description="name of a fault rule")]


def every_command() -> dict[str, SteeringCommand]:
    """Return all commands by name, those of the core and those about fault rules."""
    return load()


def dice_of(seed: int) -> Dice:
    """Return the random source of fault rules, which is separate from that of the core, so that rules do not change the ids that the
    core draws."""
    return Dice(Random(f"faults {seed}"))


class AddFaults(Arguments):
    """Register fault rules, all of them or none."""

    rules: Annotated[list[dict[str, Any]], Meta(description="rules as docs/how-to/faults.md has them")]
    origin: Annotated[str, Meta(description="where they stood, for errors")] = "the plan"
    names: Annotated[list[str] | None, Meta(description="of a journal: what they were called")] = None


class RemoveFault(Arguments):
    """Remove a fault rule and let the requests that it holds continue."""

    name: RuleName


class ReleaseFault(Arguments):
    """Let the requests that a fault rule holds continue. The rule stays."""

    name: RuleName


class ClearFaults(Arguments):
    """Remove all fault rules and let the requests that they hold continue."""


class SeedFaults(Arguments):
    """Seed the random source of the fault rules."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class RulesChange(NamedTuple):
    """The result of a command that changed fault rules. `freed` has the tickets of requests that need not wait any longer, `names` has
    the names of the added rules, for the command's row."""

    freed: Sequence[int] = ()
    names: Sequence[str] | None = None


def change(registry: RuleRegistry, command: Command) -> RulesChange:
    """Run a command that changes the fault rules. Nothing has changed if it raises BadArguments, BadPlan or UnknownRule."""
    arguments = checked(command.name, command.arguments)
    done: RulesChange = COMMANDS[command.name].run(registry, arguments)
    return done


@steers("add_faults", AddFaults, on_rules=True)
def add_faults(registry: RuleRegistry, arguments: AddFaults) -> RulesChange:
    """Add fault rules and name each rule that has no name."""
    added = registry.add_all([make_rule(each, arguments.origin) for each in arguments.rules], arguments.origin)
    return RulesChange(names=[rule.name for rule in added])


@steers("remove_fault", RemoveFault, on_rules=True)
def remove_fault(registry: RuleRegistry, arguments: RemoveFault) -> RulesChange:
    """Remove a fault rule by its name. Raises UnknownRule."""
    return RulesChange(registry.remove(arguments.name))


@steers("release_fault", ReleaseFault, on_rules=True)
def release_fault(registry: RuleRegistry, arguments: ReleaseFault) -> RulesChange:
    """Release the requests that a fault rule holds. Raises UnknownRule."""
    return RulesChange(registry.release(arguments.name))


@steers("clear_faults", ClearFaults, on_rules=True)
def clear_faults(registry: RuleRegistry, arguments: ClearFaults) -> RulesChange:
    return RulesChange(registry.clear())


@steers("seed_faults", SeedFaults, on_rules=True)
def seed_faults(registry: RuleRegistry, arguments: SeedFaults) -> RulesChange:
    """Seed the random source of the fault rules. Values that were drawn before stay."""
    registry.dice = dice_of(arguments.seed)
    return RulesChange()
