"""The only table of the control API's routes, which maps each method and path to a function. The server, the OpenAPI document, the docs
page and the command line are made from it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any, Final

import msgspec

from ..audit.verdicts import ClientFindings, Finding
from ..core.groups.view import GroupView
from ..data.acls import AclRow
from ..data.facts import ConfigRow, TopicFacts, TopicRow
from ..data.in_flight import SharePartitionRow
from ..data.lag import GroupLag
from ..data.lines import RecordLine
from ..data.seed import Seeded, SeedLine
from ..data.transactions import TransactionDetails, TransactionRow
from ..faults.plan import Plan, Rule
from ..net.fault_commands import every_command
from ..timeline.model import Timeline
from . import (
    audits,
    cluster_calls,
    data_calls,
    event_stream,
    page,
    picture_calls,
    queries,
    record_calls,
    rules,
    share_calls,
    token_calls,
    transaction_calls,
    waits,
)
from .acl_calls import acls
from .cluster_calls import (
    GroupAsk,
    GroupDetails,
    GroupPath,
    GroupRow,
    Health,
    MoreNode,
    NodeAdded,
    NodePath,
    Seed,
    StateRow,
    TopicName,
    TopicPath,
    UserPath,
)  # fmt: skip
from .context import ControlContext, Done
from .data_calls import NodeOrAll
from .openapi import document
from .queries import Counted, Find, Found, Wait
from .route import EVENTS, FORM, HTML, JSON_LINES, ControlCall, Do, Nothing, Route, given
from .row_test import Filter
from .rules import Added, Grammar, PlanRow, Ready, RulePath, RuleState, Which
from .transaction_calls import TransactionAsk, TransactionPath

COMMANDS: Final = every_command()
WAITS: Final = (408, 503)
"""A route that waits may answer with these statuses."""
NO_AUDIT: Final = (409,)
"""A cluster without an audit answers questions about it with this status."""


def _command(method: str, path: str, verb: tuple[str, str], command: str, params: type[msgspec.Struct] = Nothing,
             do: Do | None = None, query: type[msgspec.Struct] = Nothing, answer: Any = Done) -> Route:  # fmt: skip
    """Return the route of a command. The body has the command's arguments except those in the path. `do` replaces the default function
    if the answer says more than `Done`."""
    arguments = COMMANDS[command].arguments
    in_path = set(params.__struct_fields__)
    fields: list[Any] = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(arguments)
        if field.name not in in_path
    ]
    body = msgspec.defstruct(arguments.__name__, fields, forbid_unknown_fields=True, kw_only=True) if fields else Nothing

    async def submit(context: ControlContext, call: ControlCall) -> Done:
        return context.submit(command, **{**given(call.body), **given(call.path)})

    return Route(method, path, verb, _about(arguments), do or submit, params, query, body, answer)


def _about(documented: type) -> str:
    return " ".join((documented.__doc__ or "").split())


@cache
def _document() -> dict[str, Any]:
    return document(ROUTES)


async def _described(context: ControlContext, call: ControlCall) -> dict[str, Any]:
    return await asyncio.to_thread(_document)  # The OpenAPI document is made on another thread, because that takes 50 ms the first time.


ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", "/", None, "The live page: this API for people (docs/how-to/live-page.md). It holds no data, and asks for the token.",
          page.index, answer=str, gives=HTML, free=True),
    Route("GET", "/page/{file}", None, "A script, a style or the sign of the live page.", page.part, page.PagePath, answer=str,
          gives=HTML, free=True),
    Route("GET", "/health", ("cluster", "health"), "The cluster: nodes, topics, time, seed.", cluster_calls.health, answer=Health),
    Route("POST", "/reset", ("cluster", "reset"), "Forget every topic, group, connection, rule and row; configuration and addresses stay. "
          "Topics, seed data and the plan of the start come back.", cluster_calls.reset, answer=Health),
    Route("POST", "/seed", ("cluster", "seed"), "Draw ids and chances by this seed from now on.",
          cluster_calls.seed, body=Seed, answer=Done),
    _command("POST", "/clock/step", ("cluster", "step"), "step_clock"),
    _command("POST", "/clock/jump", ("cluster", "jump"), "jump_timer"),
    _command("POST", "/nodes/{node}/stop", ("cluster", "stop"), "stop_node", NodePath),
    _command("POST", "/nodes/{node}/start", ("cluster", "start"), "start_node", NodePath),
    _command("POST", "/nodes/{node}/stall", ("cluster", "stall"), "stall_node", NodePath),
    Route("POST", "/nodes", ("cluster", "add"), "Add a node, the next by number: it listens from now on, and leads what is moved there or "
          "made later.", cluster_calls.add_node, body=MoreNode, answer=NodeAdded),
    _command("POST", "/users/{name}", ("cluster", "set-user"), "set_user", UserPath),
    _command("DELETE", "/users/{name}", ("cluster", "remove-user"), "remove_user", UserPath),
    Route("POST", "/oauth/token", None, "Give a client a signed bearer token, as the token endpoint of an OAuth 2.0 server "
          "(docs/how-to/secured-listeners.md).", token_calls.token, query=token_calls.TokenQuery, body=token_calls.TokenForm,
          answer=token_calls.Token, text=True, media=FORM, free=True, refuses=(401, 404)),
    Route("GET", "/oauth/keys", None, "The key set (JWKS) that checks these tokens.", token_calls.keys, free=True, refuses=(404,)),
    _command("POST", "/leaders/move-all", ("cluster", "move-leaders"), "move_leaders"),
    _command("POST", "/coordinators/move-all", ("cluster", "move-coordinators"), "move_coordinators"),
    _command("POST", "/coordinators/move", ("cluster", "move"), "move_coordinator"),
    _command("POST", "/coordinators/unload", ("cluster", "unload"), "unload_coordinator"),
    _command("POST", "/topics/{topic}/leader", ("cluster", "lead"), "move_leader", TopicPath),
    _command("POST", "/topics", ("topic", "create"), "create_topic"),
    _command("POST", "/topics/{topic}/compact", ("topic", "compact"), "compact_topic", TopicPath),
    _command("POST", "/topics/{topic}/retain", ("topic", "retain"), "retain_topic", TopicPath),
    _command("POST", "/topics/{topic}/next-offset", ("topic", "next-offset"), "set_next_offset", TopicPath),
    _command("POST", "/topics/{topic}/lag", ("topic", "lag"), "lag_replica", TopicPath),
    _command("POST", "/topics/{topic}/catch-up", ("topic", "catch-up"), "catch_up_replica", TopicPath),
    _command("POST", "/topics/{topic}/truncate", ("topic", "truncate"), "truncate_log", TopicPath),
    _command("POST", "/topics/{topic}/unclean-leader", ("topic", "unclean-leader"), "elect_unclean_leader", TopicPath),
    _command("POST", "/topics/{name}/grow", ("topic", "grow"), "grow_topic", TopicName),
    _command("DELETE", "/topics/{name}", ("topic", "delete"), "delete_topic", TopicName),
    Route("GET", "/topics", ("topic", "list"), "Every topic, a line each.", data_calls.topics, answer=list[TopicRow]),
    Route("GET", "/topics/{name}", ("topic", "show"), "One topic: id, configs, and each partition's leader, epochs, replicas, offsets, "
          "segments.", data_calls.topic, TopicName, answer=TopicFacts),
    Route("GET", "/topics/{name}/configs", ("topic", "configs"), "Every config of a topic: its value, and where that was set.",
          data_calls.configs_of_topic, TopicName, answer=dict[str, ConfigRow]),
    _command("POST", "/topics/{name}/configs", ("topic", "configure"), "configure_topic", TopicName),
    Route("GET", "/nodes/{node}/configs", ("cluster", "configs"), "Every config of a node; of 0 what was set for all nodes at run time.",
          data_calls.configs_of_node, NodeOrAll, answer=dict[str, ConfigRow]),
    _command("POST", "/nodes/{node}/configs", ("cluster", "configure"), "configure_node", NodeOrAll),
    Route("GET", "/topics/{name}/records", ("records", "read"), "Records of a topic, by partition and offset, and where to go on.",
          record_calls.read, TopicName, record_calls.ReadRecords, answer=record_calls.RecordsPage),
    Route("POST", "/topics/{name}/records", ("records", "write"), "Write records, JSON Lines: a record a line, all of them or none "
          "(docs/how-to/seed-and-read.md).", record_calls.write, TopicName, record_calls.WriteRecords, RecordLine,
          record_calls.RecordsWritten, text=True, media=JSON_LINES, most=record_calls.MOST_BYTES),
    Route("POST", "/seed-data", ("cluster", "seed-data"), "Make topics, write records, commit offsets and set configs, as lines of seed "
          "data say (docs/how-to/seed-and-read.md).", record_calls.seed_data, body=SeedLine, answer=Seeded, text=True,
          media=JSON_LINES, most=record_calls.MOST_BYTES),
    Route("GET", "/groups", ("group", "list"), "Every group, a line each.", cluster_calls.groups, answer=list[GroupRow]),
    Route("GET", "/states", ("group", "states"), "The states of each type of group and which may follow: the coordinator's own table.",
          cluster_calls.states, answer=dict[str, list[StateRow]]),
    Route("GET", "/groups/{group}", ("group", "show"), "One group: members, assignments decoded, offsets, what is held, its story.",
          cluster_calls.group, GroupPath, GroupAsk, answer=GroupDetails),
    Route("GET", "/groups/{group}/lag", ("group", "lag"), "How far a group is behind: committed and end offset of each partition, and who "
          "reads it.", data_calls.lag, GroupPath, answer=GroupLag),
    _command("POST", "/groups/{group}/commit", ("group", "commit"), "commit_offsets", GroupPath),
    _command("POST", "/groups/{group}/reset", ("group", "reset"), "reset_offsets", GroupPath, data_calls.reset, data_calls.DryRun,
             data_calls.OffsetsReset),
    Route("GET", "/groups/{group}/wait", ("group", "wait"), "Wait until a group is as wanted; 408 says what was missing when the "
          "time is over.", waits.for_group, GroupPath, query=waits.GroupWait, answer=GroupView, refuses=WAITS),
    _command("POST", "/groups/{group}/expire", ("group", "expire"), "expire_member", GroupPath),
    _command("POST", "/groups/{group}/fence", ("group", "fence"), "fence_instance", GroupPath),
    _command("POST", "/groups/{group}/fence-member", ("group", "fence-member"), "fence_member", GroupPath),
    _command("POST", "/groups/{group}/hold", ("group", "hold"), "hold_group", GroupPath),
    _command("POST", "/groups/{group}/release", ("group", "release"), "release_group", GroupPath),
    _command("POST", "/groups/{group}/rebalance", ("group", "rebalance"), "force_rebalance", GroupPath),
    _command("POST", "/groups/{group}/generation", ("group", "generation"), "set_generation", GroupPath),
    _command("POST", "/groups/{group}/leader", ("group", "leader"), "choose_leader", GroupPath),
    _command("POST", "/groups/{group}/order", ("group", "order"), "order_joins", GroupPath),
    _command("POST", "/groups/{group}/complete", ("group", "complete"), "complete_delay", GroupPath),
    _command("POST", "/groups/{group}/freeze", ("group", "freeze"), "freeze_member", GroupPath),
    _command("POST", "/groups/{group}/thaw", ("group", "thaw"), "thaw_member", GroupPath),
    _command("POST", "/groups/{group}/configs", ("group", "configure"), "configure_group", GroupPath),
    Route("GET", "/groups/{group}/in-flight", ("group", "in-flight"), "Which records of a share group are in flight: who has them, until "
          "when, and how often they were delivered.", share_calls.in_flight, GroupPath, answer=list[SharePartitionRow]),
    _command("POST", "/groups/{group}/locks/expire", ("group", "expire-locks"), "expire_locks", GroupPath),
    _command("POST", "/groups/{group}/records/release", ("group", "release-records"), "release_records", GroupPath),
    _command("POST", "/groups/{group}/records/archive", ("group", "archive-records"), "archive_records", GroupPath),
    _command("POST", "/groups/{group}/deliveries/hold", ("group", "hold-deliveries"), "hold_deliveries", GroupPath),
    _command("POST", "/groups/{group}/deliveries/resume", ("group", "resume-deliveries"), "resume_deliveries", GroupPath),
    Route("GET", "/transactions", ("transaction", "list"), "Every transactional id, a line each.", transaction_calls.transactions,
          answer=list[TransactionRow]),
    Route("GET", "/transactions/{transactional_id}", ("transaction", "show"), "One transactional id: what is in its open transaction, "
          "whose offsets wait for its end, its story.", transaction_calls.transaction, TransactionPath, TransactionAsk,
          answer=TransactionDetails),
    _command("POST", "/transactions/{transactional_id}/abort", ("transaction", "abort"), "abort_transaction", TransactionPath),
    _command("POST", "/transactions/{transactional_id}/fence", ("transaction", "fence"), "fence_transaction", TransactionPath),
    _command("POST", "/transactions/{transactional_id}/expire", ("transaction", "expire"), "expire_transactional_id", TransactionPath),
    _command("POST", "/transactions/{transactional_id}/hold", ("transaction", "hold"), "hold_markers", TransactionPath),
    _command("POST", "/transactions/{transactional_id}/release", ("transaction", "release"), "release_markers", TransactionPath),
    _command("POST", "/transactions/{transactional_id}/move", ("transaction", "move"), "move_transaction_coordinator", TransactionPath),
    Route("GET", "/acls", ("acl", "list"), "Every rule of the authorizer, in the order in which they were added.", acls,
          answer=list[AclRow]),
    _command("POST", "/acls/allow", ("acl", "allow"), "allow"),
    _command("POST", "/acls/deny", ("acl", "deny"), "deny"),
    _command("POST", "/acls/remove", ("acl", "remove"), "remove_acls"),
    Route("GET", "/faults", ("faults", "list"), "Every fault rule with its counts; for one that never fired, the nearest call and the "
          "conditions that failed.", rules.rules, query=Which, answer=list[RuleState]),
    Route("POST", "/faults", ("faults", "add"), "Register a rule (docs/how-to/faults.md), in JSON.", rules.add, body=Rule, answer=Added,
          text=True),
    _command("DELETE", "/faults", ("faults", "clear"), "clear_faults"),
    Route("GET", "/faults/{name}", ("faults", "show"), "One rule.", rules.rule, RulePath, answer=RuleState),
    _command("DELETE", "/faults/{name}", ("faults", "remove"), "remove_fault", RulePath),
    Route("GET", "/faults/{name}/wait", ("faults", "wait"), "Wait until a rule fired so often; 408 tells the nearest call when the time is "
          "over.", waits.for_rule, RulePath, query=waits.FaultWait, answer=RuleState, refuses=WAITS),
    Route("POST", "/faults/{name}/wait", None, "The same as GET.", waits.for_rule, RulePath, query=waits.FaultWait, answer=RuleState,
          refuses=WAITS),
    _command("POST", "/faults/{name}/release", ("faults", "release"), "release_fault", RulePath),
    Route("GET", "/grammar", ("faults", "grammar"), "What a fault rule may say: conditions, stages, kinds with their arguments, requests.",
          rules.grammar, answer=Grammar),
    Route("GET", "/plans", ("faults", "plans"), "The ready plans that come with groupmock, and what each asks of a client.", rules.plans,
          answer=list[PlanRow]),
    Route("POST", "/plan", ("faults", "plan"), "Register every rule of a plan, or none: a plan file (TOML, or the same in JSON) in the "
          "body, or a ready one by name.", rules.add_plan, query=Ready, body=Plan, answer=Added, text=True),
    Route("GET", "/journal/count", ("journal", "count"), "How many of the kept rows fit.", queries.count, query=Filter, answer=Counted),
    Route("GET", "/journal/find", ("journal", "find"), "The kept rows that fit.", queries.find, query=Find, answer=Found),
    Route("GET", "/journal/file", None, "The kept rows as a journal file, which `groupmock timeline`, `story` and `audit` read; it cannot "
          "be replayed.", queries.file, answer=str, gives=JSON_LINES),
    Route("GET", "/journal/wait", ("journal", "wait"), "Wait until so many rows fit; 408 when the time is over.", queries.wait, query=Wait,
          answer=Found, refuses=WAITS),
    Route("GET", "/events", None, "Server-sent events: the rows that fit, as they come (`curl -N`). `lost`: who read too slowly missed so "
          "many; `end`: the cluster is reset, or is no more.", event_stream.events, query=event_stream.Listen, answer=str, gives=EVENTS,
          refuses=(503,)),
    Route("GET", "/timeline/{group}", None, "The picture of a group's last seconds, as data: lanes, bands, marks "
          "(docs/how-to/timeline.md).", picture_calls.picture, GroupPath, picture_calls.PictureAsk, answer=Timeline),
    Route("GET", "/timeline/{group}/page", None, "The same as the page that `groupmock timeline` writes.", picture_calls.page, GroupPath,
          picture_calls.Window, answer=str, gives=HTML),
    Route("GET", "/audit", None, "What the clients were found to do, rule by rule; 409 where nobody is audited (`--audit`).",
          audits.verdicts, query=audits.Which, answer=audits.Audited, refuses=NO_AUDIT),
    Route("GET", "/audit/clients", None, "What they did wrong: one finding for each rule and client library, with its count, "
          "the first and the last time.", audits.clients, query=audits.WhichClients, answer=list[ClientFindings], refuses=NO_AUDIT),
    Route("GET", "/audit/findings", None, "The single findings, at most 20 of one rule; the rows of the journal have up to 1,000.",
          audits.findings, query=audits.WhichFindings, answer=list[Finding], refuses=NO_AUDIT),
    Route("GET", "/metrics", None, "Counters and gauges for Prometheus.", cluster_calls.metrics, answer=str),
    Route("GET", "/openapi.json", None, "This API as an OpenAPI 3.1 document.", _described),
)  # fmt: skip
