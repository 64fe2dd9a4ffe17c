"""THE table of routes: METHOD path -> function. Server, OpenAPI document, docs page and command line are made from it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..core.steering import STEERS
from ..faults.plan import Plan, Rule
from . import cluster, queries, rules
from .cluster import GroupDetails, GroupPath, GroupRow, Health, NodePath, Seed, TopicPath
from .context import Context, Done
from .queries import Counted, Filter, Find, Found, Wait
from .route import Call, Nothing, Route
from .rules import Added, PlanRow, Ready, RulePath, RuleState, Which


def _steering(method: str, path: str, verb: tuple[str, str], command: str, params: type[msgspec.Struct] = Nothing) -> Route:
    """A route that is a steering command: its body is the command's arguments but for those in the path."""
    arguments = STEERS[command].arguments
    in_path = set(params.__struct_fields__)
    fields: list[Any] = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(arguments)
        if field.name not in in_path
    ]
    body = msgspec.defstruct(arguments.__name__, fields, forbid_unknown_fields=True, kw_only=True) if fields else Nothing

    async def do(context: Context, call: Call) -> Done:
        return context.submit(command, **{**_given(call.body), **_given(call.path)})

    return Route(method, path, verb, _about(arguments), do, params, Nothing, body, Done)


def _given(struct: msgspec.Struct) -> dict[str, Any]:
    """What was said, defaults left out, so that a journal holds no more than that."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(struct)}
    return {name: value for name, value in msgspec.to_builtins(struct).items() if value != defaults[name]}


def _about(documented: type) -> str:
    return " ".join((documented.__doc__ or "").split())


ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", "/health", ("cluster", "health"), "The cluster: nodes, topics, time, seed.", cluster.health, answer=Health),
    Route("POST", "/reset", ("cluster", "reset"), "Forget every topic, group, connection, rule and row; configuration and addresses stay. "
          "Topics and the plan of the start come back.", cluster.reset, answer=Health),
    Route("POST", "/seed", ("cluster", "seed"), "Draw ids and chances by this seed from now on.", cluster.seed, body=Seed, answer=Done),
    _steering("POST", "/clock/step", ("cluster", "step"), "step_clock"),
    _steering("POST", "/clock/jump", ("cluster", "jump"), "jump_timer"),
    _steering("POST", "/nodes/{node}/stop", ("cluster", "stop"), "stop_node", NodePath),
    _steering("POST", "/nodes/{node}/start", ("cluster", "start"), "start_node", NodePath),
    _steering("POST", "/nodes/{node}/stall", ("cluster", "stall"), "stall_node", NodePath),
    _steering("POST", "/coordinators/move", ("cluster", "move"), "move_coordinator"),
    _steering("POST", "/coordinators/unload", ("cluster", "unload"), "unload_coordinator"),
    _steering("POST", "/topics/{topic}/leader", ("cluster", "lead"), "move_leader", TopicPath),
    Route("GET", "/groups", ("group", "list"), "Every group, a line each.", cluster.groups, answer=list[GroupRow]),
    Route("GET", "/groups/{group}", ("group", "show"), "One group: members, assignments decoded, offsets, what is held, its story.",
          cluster.group, GroupPath, answer=GroupDetails),
    _steering("POST", "/groups/{group}/expire", ("group", "expire"), "expire_member", GroupPath),
    _steering("POST", "/groups/{group}/fence", ("group", "fence"), "fence_instance", GroupPath),
    _steering("POST", "/groups/{group}/hold", ("group", "hold"), "hold_group", GroupPath),
    _steering("POST", "/groups/{group}/release", ("group", "release"), "release_group", GroupPath),
    _steering("POST", "/groups/{group}/rebalance", ("group", "rebalance"), "force_rebalance", GroupPath),
    _steering("POST", "/groups/{group}/leader", ("group", "leader"), "choose_leader", GroupPath),
    _steering("POST", "/groups/{group}/order", ("group", "order"), "order_joins", GroupPath),
    _steering("POST", "/groups/{group}/complete", ("group", "complete"), "complete_delay", GroupPath),
    _steering("POST", "/groups/{group}/freeze", ("group", "freeze"), "freeze_member", GroupPath),
    _steering("POST", "/groups/{group}/thaw", ("group", "thaw"), "thaw_member", GroupPath),
    Route("GET", "/faults", ("faults", "list"), "Every fault rule with its counts; for one that never fired, the nearest call and the "
          "conditions that failed.", rules.rules, query=Which, answer=list[RuleState]),
    Route("POST", "/faults", ("faults", "add"), "Register a rule (docs/faults.md), in JSON.", rules.add, body=Rule, answer=Added,
          text=True),
    Route("DELETE", "/faults", ("faults", "clear"), "Forget every rule; what they held goes on.", rules.clear, answer=Done),
    Route("GET", "/faults/{name}", ("faults", "show"), "One rule.", rules.rule, RulePath, answer=RuleState),
    Route("DELETE", "/faults/{name}", ("faults", "remove"), "Forget a rule; what it held goes on.", rules.remove, RulePath, answer=Done),
    Route("POST", "/faults/{name}/release", ("faults", "release"), "Let go of what a rule holds; the rule stays.", rules.release, RulePath,
          answer=Done),
    Route("GET", "/plans", ("faults", "plans"), "The ready plans that come with groupmock, and what each asks of a client.", rules.plans,
          answer=list[PlanRow]),
    Route("POST", "/plan", ("faults", "plan"), "Register every rule of a plan, or none: a plan file (TOML, or the same in JSON) in the "
          "body, or a ready one by name.", rules.add_plan, query=Ready, body=Plan, answer=Added, text=True),
    Route("GET", "/journal/count", ("journal", "count"), "How many of the kept rows fit.", queries.count, query=Filter, answer=Counted),
    Route("GET", "/journal/find", ("journal", "find"), "The kept rows that fit.", queries.find, query=Find, answer=Found),
    Route("GET", "/journal/wait", ("journal", "wait"), "Wait until so many rows fit; 408 when the time is over.", queries.wait, query=Wait,
          answer=Found),
    Route("GET", "/metrics", None, "Counters and gauges for Prometheus.", cluster.metrics, answer=str),
    Route("GET", "/openapi.json", None, "This API as an OpenAPI 3.1 document.", cluster.openapi),
)  # fmt: skip
