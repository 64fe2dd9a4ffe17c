"""Commands about fault rules: rows of the journal as those of the core are, done by whoever has the sockets."""

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
    """The whole table: those of the core, and those of this file."""
    return load()


def dice_of(seed: int) -> Dice:
    """The faults' own: rules must not change the ids that the core draws."""
    return Dice(Random(f"faults {seed}"))


class AddFaults(Arguments):
    """Register rules, all or none."""

    rules: Annotated[list[dict[str, Any]], Meta(description="rules as docs/how-to/faults.md has them")]
    origin: Annotated[str, Meta(description="where they stood, for errors")] = "the plan"
    names: Annotated[list[str] | None, Meta(description="of a journal: what they were called")] = None


class RemoveFault(Arguments):
    """Forget a rule; what it held goes on."""

    name: RuleName


class ReleaseFault(Arguments):
    """Let go of what a rule holds; the rule stays."""

    name: RuleName


class ClearFaults(Arguments):
    """Forget every rule; what they held goes on."""


class SeedFaults(Arguments):
    """Draw the chances of rules by this seed from now on."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class RulesChange(NamedTuple):
    """What a command did. `freed`: tickets whose wait is over; `names`: of the rules that were added, for the command's row."""

    freed: Sequence[int] = ()
    names: Sequence[str] | None = None


def change(registry: RuleRegistry, command: Command) -> RulesChange:
    """Change the rules. Raises BadArguments, BadPlan, UnknownRule, with nothing changed."""
    arguments = checked(command.name, command.arguments)
    done: RulesChange = COMMANDS[command.name].run(registry, arguments)
    return done


@steers("add_faults", AddFaults, on_rules=True)
def add_faults(registry: RuleRegistry, arguments: AddFaults) -> RulesChange:
    """Those without a name are given one."""
    added = registry.add_all([make_rule(each, arguments.origin) for each in arguments.rules], arguments.origin)
    return RulesChange(names=[rule.name for rule in added])


@steers("remove_fault", RemoveFault, on_rules=True)
def remove_fault(registry: RuleRegistry, arguments: RemoveFault) -> RulesChange:
    """Raises UnknownRule."""
    return RulesChange(registry.remove(arguments.name))


@steers("release_fault", ReleaseFault, on_rules=True)
def release_fault(registry: RuleRegistry, arguments: ReleaseFault) -> RulesChange:
    """Raises UnknownRule."""
    return RulesChange(registry.release(arguments.name))


@steers("clear_faults", ClearFaults, on_rules=True)
def clear_faults(registry: RuleRegistry, arguments: ClearFaults) -> RulesChange:
    """Harmless where there is none."""
    return RulesChange(registry.clear())


@steers("seed_faults", SeedFaults, on_rules=True)
def seed_faults(registry: RuleRegistry, arguments: SeedFaults) -> RulesChange:
    """What was drawn stays."""
    registry.dice = dice_of(arguments.seed)
    return RulesChange()
