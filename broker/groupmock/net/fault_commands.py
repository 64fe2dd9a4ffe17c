"""Commands that change the fault rules. They are rows of the journal like the core's commands, but the owner of the sockets runs them."""

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
    """Return all commands by name: those of the core, and those of this file."""
    return load()


def dice_of(seed: int) -> Dice:
    """Return the dice of faults, which are their own because rules must not change the ids that the core draws."""
    return Dice(Random(f"faults {seed}"))


class AddFaults(Arguments):
    """Register rules, all or none."""

    rules: Annotated[list[dict[str, Any]], Meta(description="rules as docs/how-to/faults.md has them")]
    origin: Annotated[str, Meta(description="where they stood, for errors")] = "the plan"
    names: Annotated[list[str] | None, Meta(description="of a journal: what they were called")] = None


class RemoveFault(Arguments):
    """Remove a rule and let the requests that it holds go on."""

    name: RuleName


class ReleaseFault(Arguments):
    """Let the requests that a rule holds go on. The rule stays."""

    name: RuleName


class ClearFaults(Arguments):
    """Remove all rules and let the requests that they hold go on."""


class SeedFaults(Arguments):
    """Draw the chances of rules by this seed from now on."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class RulesChange(NamedTuple):
    """The result of a command. `freed` has the tickets whose wait is over, `names` those of the added rules, for the command's row."""

    freed: Sequence[int] = ()
    names: Sequence[str] | None = None


def change(registry: RuleRegistry, command: Command) -> RulesChange:
    """Change the rules by a command. If it raises BadArguments, BadPlan or UnknownRule, nothing has changed."""
    arguments = checked(command.name, command.arguments)
    done: RulesChange = COMMANDS[command.name].run(registry, arguments)
    return done


@steers("add_faults", AddFaults, on_rules=True)
def add_faults(registry: RuleRegistry, arguments: AddFaults) -> RulesChange:
    """Add rules, and give a name to each that has none."""
    added = registry.add_all([make_rule(each, arguments.origin) for each in arguments.rules], arguments.origin)
    return RulesChange(names=[rule.name for rule in added])


@steers("remove_fault", RemoveFault, on_rules=True)
def remove_fault(registry: RuleRegistry, arguments: RemoveFault) -> RulesChange:
    """Remove a rule by its name. Raises UnknownRule."""
    return RulesChange(registry.remove(arguments.name))


@steers("release_fault", ReleaseFault, on_rules=True)
def release_fault(registry: RuleRegistry, arguments: ReleaseFault) -> RulesChange:
    """Release what a rule holds. Raises UnknownRule."""
    return RulesChange(registry.release(arguments.name))


@steers("clear_faults", ClearFaults, on_rules=True)
def clear_faults(registry: RuleRegistry, arguments: ClearFaults) -> RulesChange:
    """Remove all rules, if there are any."""
    return RulesChange(registry.clear())


@steers("seed_faults", SeedFaults, on_rules=True)
def seed_faults(registry: RuleRegistry, arguments: SeedFaults) -> RulesChange:
    """Seed the dice of the rules. Values that were drawn before stay."""
    registry.dice = dice_of(arguments.seed)
    return RulesChange()
