"""Routes for fault rules and plans. A refused rule or plan changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from groupmock_codec import APIS

from ..faults.kind import Fault, all_kinds
from ..faults.plan import ABOUT, STAGES, BadPlan, make_plan, make_rule, parse_plan, read_plan, ready_plans, rule_as_data
from ..text import bounded as bounded_text
from .context import ControlContext
from .route import ControlCall

if TYPE_CHECKING:
    from ..faults.registry import RuleReport


class RulePath(msgspec.Struct):
    """The path parameter that names a fault rule."""

    name: Annotated[str, Meta(description="name of a fault rule", min_length=1)]


class Which(msgspec.Struct, forbid_unknown_fields=True):
    """The fault rules to which an answer is restricted."""

    never_fired: Annotated[bool, Meta(description="only those that did nothing so far")] = False


class Ready(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a ready plan, which is used in place of a plan in the body."""

    ready: Annotated[str | None, Meta(description="its name; GET /v1/plans lists them")] = None


class KindField(msgspec.Struct):
    """A field of the table `do` for one kind of fault."""

    name: str
    about: str
    required: bool
    default: Any


class KindRow(msgspec.Struct):
    """A kind of fault that rules may use. `stages` says where it can be used, the usual stage first."""

    name: str
    about: str
    stages: list[str]
    fields: list[KindField]


class Grammar(msgspec.Struct):
    """The grammar of fault rules. `when` has each condition with its meaning, `apis` the names of requests."""

    kinds: list[KindRow]
    stages: list[str]
    when: dict[str, str]
    apis: list[str]


class RuleState(msgspec.Struct):
    """A fault rule, how often it fired, and which requests it holds. While it has never fired, the call that came nearest to it is
    added, with the failed conditions."""

    name: str
    sentence: str
    fired: int
    matched: int
    holding: int
    spent: bool
    near_miss: Any
    rule: dict[str, Any]


class Added(msgspec.Struct):
    """The names of the registered rules."""

    names: list[str]


class PlanRow(msgspec.Struct):
    """A ready plan with its rules: what it does and what a correct client must do."""

    name: str
    about: str
    rules: list[str]


async def rules(context: ControlContext, call: ControlCall) -> list[RuleState]:
    """Return all rules in order of registration."""
    reports = context.running.server.driver.rules.reports()
    return [state_of(report) for report in reports if not (call.query.never_fired and report.fired)]


async def rule(context: ControlContext, call: ControlCall) -> RuleState:
    """Return the state of one rule. Raises UnknownRule."""
    return state_of(context.running.server.driver.rules.registry.report(call.path.name))


def state_of(report: RuleReport) -> RuleState:
    """Return the state of a rule from its report."""
    miss = msgspec.to_builtins(report.near_miss) if report.near_miss is not None else None
    return RuleState(report.name, report.sentence, report.fired, report.matched, report.holding, report.spent, miss, report.rule)


async def add(context: ControlContext, call: ControlCall) -> Added:
    """Register the rule of the body. Raises BadPlan."""
    made = rule_as_data(make_rule(_json(call.raw), "the rule"))
    context.submit("add_faults", rules=[made], origin="the rule")
    # The name in the answer is read from the registry, which names a rule that came without a name.
    return Added([context.running.server.driver.rules.reports()[-1].name])


async def add_plan(context: ControlContext, call: ControlCall) -> Added:
    """Register all rules of a plan, or none. Raises BadPlan, ValueError."""
    if call.query.ready is not None:
        if call.raw.strip():
            raise ValueError("either a ready plan or one in the body")
        plan = read_plan(call.query.ready) if call.query.ready in ready_plans() else _no_such(call.query.ready)
    # A body that begins with a brace is JSON, because a TOML document never does; the content type is not needed.
    elif call.raw.lstrip()[:1] == b"{":
        plan = make_plan(_json(call.raw))
    else:
        plan = parse_plan(call.raw)
    if not plan.rule:
        raise BadPlan("the plan has no rule: write [[rule]] tables (curl sends a file as it is by --data-binary @FILE)")
    return Added(context.running.load_plan(plan))


def _no_such(name: str) -> Any:
    raise BadPlan(f"no ready plan {name!r}: there are {', '.join(ready_plans())}")


def _json(raw: bytes) -> Any:
    try:
        return bounded_text.json(raw)
    except bounded_text.BadText as bad:
        raise BadPlan(f"body: {bad}") from None


async def grammar(context: ControlContext, call: ControlCall) -> Grammar:
    """Return the grammar of fault rules, which is the same for every cluster."""
    kinds = [
        KindRow(name, " ".join((kind.__doc__ or "").split()), list(kind.STAGES), list(_fields(kind))) for name, kind in all_kinds().items()
    ]
    return Grammar(kinds, list(STAGES), dict(ABOUT), sorted(api.name for api in APIS.values()))


def _fields(kind: type[Fault]) -> Iterator[KindField]:
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]["properties"]
    for field in msgspec.structs.fields(kind):
        default = None if field.required else field.default
        yield KindField(field.name, schema[field.encode_name].get("description", ""), field.required, default)


async def plans(context: ControlContext, call: ControlCall) -> list[PlanRow]:
    """Return the ready plans that come with groupmock."""
    read = {name: read_plan(name) for name in ready_plans()}
    return [PlanRow(name, plan.about.strip(), [rule.name for rule in plan.rule]) for name, plan in read.items()]
