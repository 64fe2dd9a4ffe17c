"""A generated exchange of several clients as a script in the probe's language (docs/reference/exchanges.md), made before it is played.

What only a run can know is a reference there: names of groups and topics, what a member remembers of its answers (`MemberMemory`), the
answers that have a name. Families write steps by the functions here, with Kafka's numbers and plain values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Final, get_args

from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Act, Exchange, Let, Pause, Raw, Send, Step
from groupmock_clients.probe.language.macros import LogicalLine
from groupmock_clients.probe.language.messages import KEYS, filled_in
from groupmock_clients.probe.language.parser import read_one
from groupmock_clients.probe.language.printing import head_lines, step_text
from groupmock_clients.probe.language.steps import step_of
from groupmock_clients.probe.language.syntax import REFERENCE, Expr, FunctionCall, Literal, Ref, Sequence, Struct, Text
from groupmock_codec import APIS
from groupmock_codec.api_keys import (
    CONSUMER_GROUP_DESCRIBE,
    DESCRIBE_GROUPS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    DESCRIBE_TRANSACTIONS,
    FETCH,
    LIST_GROUPS,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)
from groupmock_codec.declare import Field, Message, fields_of

from .settings_classes import CLASSES, ORACLE

Json = Any
"""The fields of a request as families write them: plain values, lists and dicts, which may contain expressions of the language."""
ENDING: Final = "End"
"""The name of the member that asks for the final state of groups and topics, which no generated member has."""
IDS: Final = (1, 2)
"""The transactional ids that a script about transactions uses."""
WITH_TRANSACTIONS: Final = ("transactions", "migrations")
"""The subjects of scripts that have transactions."""
CLIENT_ID: Final = "c"
"""The default client id of generated requests."""
KINDS: Final = get_args(Expr)
GENERATED: Final = "generated-"
NOTHING_DECLARED: Final = Exchange("script", "", "script")
NUMBERED: Final = re.compile(r"(group|t)(\d+)")


@dataclass
class TopicNeed:
    """A topic that a script needs. `own` topics are made for this script alone, while other topics are shared and must not be changed."""

    partitions: int = 4
    own: bool = False
    configs: dict[str, str] = field(default_factory=dict)


@dataclass
class Script:
    """A generated exchange with the family, seed and release that made it. `settings` names a class of broker settings; `groups`: how
    many groups it calls its own."""

    family: str
    seed: int
    release: str
    settings: str
    steps: list[Step]
    groups: int = 1
    topics: list[TopicNeed] = field(default_factory=list)

    @property
    def about(self) -> str:
        """Return the subject of the script, which determines the final questions: such as groups, log
        or consumers."""
        if self.family != "exchanges":
            return "shares" if self.family == "moves" else self.family
        return "log" if any(need.own for need in self.topics) else "groups"

    def clients(self) -> list[str]:
        """Return the names of the clients in the order of their appearance."""
        return list(dict.fromkeys(map(client_of, (step for step in self.steps if not isinstance(step, Pause)))))

    def before(self, index: int) -> list[int]:
        """Return the indexes of the requests that were sent before on the connection of that step, oldest first, since it was opened."""
        here = self.steps[index] if 0 <= index < len(self.steps) else None
        sent: list[int] = []
        if here is None or isinstance(here, Pause):
            return sent
        for at, step in enumerate(self.steps[:index]):
            if not isinstance(step, Pause) and link_of(step) == link_of(here):
                sent = [] if isinstance(step, Act) else [*sent, at]
        return sent

    # -- as an exchange

    @property
    def exchange(self) -> Exchange:
        """Return the script as an exchange, with definitions of the further group and topic names at its begin."""
        names = {name for step in self.steps for name in _names(step)}
        told = {**BASE_SETTINGS, **CLASSES[self.settings], **ORACLE}
        topics = {f"t{at}": need for at, need in enumerate(self.topics, 1)}
        return Exchange(
            f"{self.family}-{self.seed}",
            f"Generated: family {self.family}, seed {self.seed}, release {self.release}",
            "generated",
            rows=(f"{GENERATED}{self.family}",),
            releases=(self.release,),
            stages=("tcp",) if any(isinstance(step, Raw) for step in self.steps) else ("core", "tcp"),
            settings={key: value for key, value in told.items() if BASE_SETTINGS.get(key) != value},
            topics={name: need.partitions for name, need in topics.items()},
            own={name: need.configs for name, need in topics.items() if need.own},
            members=dict.fromkeys(("*", *self._silent(names)), (("client_id", Literal(CLIENT_ID)),)),
            steps=(*self._lets(names), *self.steps),
        )

    def _silent(self, names: set[str]) -> list[str]:
        """Return the members to which requests refer although they send nothing."""
        senders = {client_of(step) for step in self.steps if isinstance(step, Send)}
        return sorted(name for name in names - senders if name[0].isupper())

    def _lets(self, names: Iterable[str]) -> Iterator[Let]:
        for number in range(2, self.groups + 1):
            further = "group" if self.about in WITH_TRANSACTIONS else "stem"
            yield Let(name=f"group{number}", value=Text(f"${further}-{number}"))
        there = {"t": len(self.topics), "group": self.groups}
        for name in sorted(names):
            match = NUMBERED.fullmatch(name)
            if match is not None and int(match[2]) > there[match[1]]:
                yield Let(name=name, value=Text(f"$stem-no-{'topic' if match[1] == 't' else 'group'}-{match[2]}"))

    def text(self) -> str:
        """Return the exchange as text, which `read` converts back."""
        exchange = self.exchange
        return "\n".join([*head_lines(exchange), "", *map(step_text, exchange.steps), ""])

    @classmethod
    def read(cls, text: str) -> Script:
        """Parse the text of an exchange to a script. Raises ExchangeError."""
        head, _, body = text.partition("\n\n")
        exchange = read_one("script", head)
        family, _, seed = exchange.name.rpartition("-")
        steps = [_step(line) for line in body.splitlines()]
        lets = [step for step in steps if isinstance(step, Let)]
        topics = [TopicNeed(count, name in exchange.own, exchange.own.get(name, {})) for name, count in exchange.topics.items()]
        groups = 0 if family == "bytes" else 1 + sum(step.name.startswith("group") and "-no-" not in str(step.value) for step in lets)
        settings = next(name for name in CLASSES if _same_settings(name, exchange))
        acted = [step for step in steps if not isinstance(step, Let)]
        return cls(family, int(seed), exchange.releases[0], settings, acted, groups, topics)


@lru_cache(1 << 14)
def _step(line: str) -> Step:
    """Parse a line, with a cache because half of the lines of recorded plays occur in several plays."""
    return step_of(LogicalLine("script", line), NOTHING_DECLARED)


def _same_settings(name: str, exchange: Exchange) -> bool:
    told = {**BASE_SETTINGS, **CLASSES[name], **ORACLE}
    return {key: value for key, value in told.items() if BASE_SETTINGS.get(key) != value} == exchange.settings


# -- looking at steps --------------------------------------------------------------------------------------------------


def link_of(step: Step) -> str:
    """Return the connection on which a step is sent, such as `A` or `A/2`."""
    link: str = step.member  # type: ignore[attr-defined]  # every kind but Pause, Mark, Let and Command
    return link


def client_of(step: Step) -> str:
    return link_of(step).partition("/")[0]


def key_of(step: Send) -> int:
    return KEYS[step.api]


def version_of(step: Send) -> int:
    assert isinstance(step.version, Literal) and isinstance(step.version.value, int)
    return step.version.value


def given(step: Send, name: str) -> Expr | None:
    """Return the expression that a request has for a field, or None if the field is not set."""
    return dict(step.fields).get(name)


def asks_for_topics(step: Send) -> bool:
    """Tell whether this Metadata request names topics instead of asking for all."""
    topics = given(step, "topics")
    return isinstance(topics, Sequence) and bool(topics.items)


def ms_of(step: Pause) -> int:
    assert isinstance(step.ms, Literal) and isinstance(step.ms.value, int)
    return step.ms.value


def _names(value: object) -> Iterator[str]:
    """Yield the names to which a step or an expression refers."""
    match value:
        case Ref(name):
            yield name
        case Text(template):
            yield from (found for match in REFERENCE.finditer(template) if (found := match["braced"] or match["bare"]))
        case Send(fields=inner) | Struct(fields=inner):
            for _, each in inner:
                yield from _names(each)
        case Sequence(items=inner) | FunctionCall(arguments=inner):
            for each in inner:
                yield from _names(each)


# -- writing steps -----------------------------------------------------------------------------------------------------


def group(number: int) -> Expr:
    """Return a reference to a group of the script by its number, or to a missing group if the number is too high."""
    return Ref("group" if number == 1 else f"group{number}", None, 0)


def topic(number: int) -> Expr:
    """Return a reference to a topic of the script by its number, or to a missing topic if the number is too high."""
    return Ref(f"t{number}", None, 0)


def topic_id(number: int) -> Expr:
    """Return a reference to a topic's id by the topic's number, or to a missing id if the number is too high."""
    return Ref(f"t{number}", "id", 0)


def transactional_id(number: int) -> Expr:
    """Return the expression for a transactional id of the script."""
    return Text(f"${{group}}-x{number}")


def told(client: str, name: str, plus: int = 0) -> Expr:
    """Return a reference to a value that the client remembers from answers. Without such an answer the field keeps its default."""
    return Ref(client, name, plus)


def written(name: str, *values: Json) -> Expr:
    """Return a call of one of the functions of the exchange language."""
    return FunctionCall(name, tuple(map(as_expr, values)))


def as_expr(value: Json) -> Expr:
    """Convert plain values to an expression, and keep expressions in them."""
    if isinstance(value, KINDS):
        found: Expr = value
        return found
    if isinstance(value, Mapping):
        return Struct(tuple((name, as_expr(inner)) for name, inner in value.items()))
    if isinstance(value, list | tuple):
        return Sequence(tuple(map(as_expr, value)))
    return Literal(value)


@cache
def _fields(cls: type[Message]) -> dict[str, Field]:
    return {each.name: each for each in fields_of(cls)}


def request(
    client: str,
    key: int,
    version: int,
    fields: Mapping[str, Json] | None = None,
    link: str | None = None,
    client_id: str | None = CLIENT_ID,
) -> Send:
    """Return a request by its fields in snake_case. Fields that the version lacks are left out, and so are nulls that it cannot encode.
    Fields that the language would fill in by itself get the message's own defaults. Raises ValueError for a field that the API never
    has."""
    api = APIS[key]
    cls, fields = api.request.message, fields or {}
    if unknown := fields.keys() - _fields(cls).keys():
        raise ValueError(f"{api.name} requests have no field {', '.join(sorted(unknown))}: they have {', '.join(_fields(cls))}")
    usual, automatic = cls(), filled_in(api.name)
    said: list[tuple[str, Expr]] = [] if client_id == CLIENT_ID else [("client_id", Literal(client_id))]
    for name, each in _fields(cls).items():
        if not each.present(version) or (name not in fields and name not in automatic):
            continue
        value = fields.get(name)
        if value is None and (name not in fields or not each.nullable(version)):
            value = getattr(usual, name)
        said.append((name, as_expr(value)))
    return Send(member=link or client, api=api.name, version=Literal(version), fields=tuple(said))


def pause(ms: int) -> Pause:
    return Pause(ms=Literal(ms))


def act(link: str, verb: str) -> Act:
    """Return a step in which a connection `drops`, `resets` or `reconnects`."""
    return Act(member=link, verb=verb)


def raw(link: str, data: bytes, framed: bool = True) -> Raw:
    """Return a step that sends bytes, preceded by their length if `framed`."""
    return Raw(member=link, framed=framed, parts=(Literal(data),))


# -- leaving out -------------------------------------------------------------------------------------------------------


def without(script: Script, gone: set[int]) -> Script:
    """Return a copy of the script without these steps. References to clients and answers that are gone become null."""
    steps = [step for index, step in enumerate(script.steps) if index not in gone]
    dropped = {name for index in gone if (name := getattr(script.steps[index], "bound", None))}
    smaller = replace(script, steps=steps)
    dropped |= set(script.clients()) - set(smaller.clients())
    if dropped:
        smaller.steps = [replace(step, fields=_without(step.fields, dropped)) if isinstance(step, Send) else step for step in steps]
    return smaller


def _without(fields: tuple[tuple[str, Expr], ...], gone: set[str]) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, _nulled(value, gone)) for name, value in fields)


def _nulled(value: Expr, gone: set[str]) -> Expr:
    match value:
        case Ref(name):
            return Literal(None) if name in gone else value
        case Struct(fields):
            return Struct(_without(fields, gone))
        case Sequence(items):
            return Sequence(tuple(_nulled(each, gone) for each in items))
        case FunctionCall(name, arguments):
            return FunctionCall(name, tuple(_nulled(each, gone) for each in arguments))
    return value


# -- the end of every script -------------------------------------------------------------------------------------------

Versions = Mapping[int, tuple[int, int]]
"""Maps an API key to the lowest and the highest version of a release."""


def ending(script: Script, versions: Versions) -> list[Step]:
    """Return the final requests of a play, which ask for the state of the script's groups, topics or transactions."""
    asked: dict[str, Any] = {
        "groups": _groups_ending, "transactions": _transactions_ending, "log": _log_ending, "shares": _shares_ending,
        "streams": _streams_ending,
        **dict.fromkeys(("migrations", "regexes", "lies"), _crossed_ending),
    }  # fmt: skip
    found = asked.get(script.about)
    return [] if found is None else [request(ENDING, key, version, fields) for key, version, fields in found(script, versions)]


def _crossed_ending(script: Script, versions: Versions) -> Iterator[tuple[int, int, Json]]:
    """Yield requests for the final state of groups of any type and of the offsets that transactions hold."""
    groups = [group(number) for number in range(1, script.groups + 1)]
    yield CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": groups}
    yield DESCRIBE_GROUPS, versions[DESCRIBE_GROUPS][1], {"groups": groups}
    yield LIST_GROUPS, versions[LIST_GROUPS][1], {}
    yield OFFSET_FETCH, 9, {"groups": [{"group_id": each, "topics": None} for each in groups], "require_stable": True}
    if script.about in WITH_TRANSACTIONS:
        yield DESCRIBE_TRANSACTIONS, versions[DESCRIBE_TRANSACTIONS][1], {"transactional_ids": [transactional_id(number) for number in IDS]}


def _groups_ending(script: Script, versions: Versions) -> Iterator[tuple[int, int, Json]]:
    groups = [group(number) for number in range(1, script.groups + 1)]
    yield DESCRIBE_GROUPS, versions[DESCRIBE_GROUPS][1], {"groups": groups}
    yield LIST_GROUPS, versions[LIST_GROUPS][1], {}
    fetch = min(versions[OFFSET_FETCH][1], 9)
    if fetch >= 8:
        yield OFFSET_FETCH, fetch, {"groups": [{"group_id": each, "topics": None} for each in groups]}
    else:
        yield from ((OFFSET_FETCH, fetch, {"group_id": each, "topics": None}) for each in groups)


def _transactions_ending(script: Script, versions: Versions) -> Iterator[tuple[int, int, Json]]:
    """Yield requests for the final state of transactions: what coordinators, partitions and groups know, and what readers of both
    isolation levels get."""
    topics = [(topic(number), need.partitions) for number, need in enumerate(script.topics, 1)]
    groups = [group(number) for number in range(1, script.groups + 1)]
    indexes = [{"name": name, "partition_indexes": list(range(count))} for name, count in topics]
    if DESCRIBE_TRANSACTIONS in versions:
        yield DESCRIBE_TRANSACTIONS, versions[DESCRIBE_TRANSACTIONS][1], {"transactional_ids": [transactional_id(number) for number in IDS]}
    yield DESCRIBE_PRODUCERS, versions[DESCRIBE_PRODUCERS][1], {"topics": indexes}
    for level in (0, 1):
        yield LIST_OFFSETS, 6, {"replica_id": -1, "isolation_level": level, "topics": _ends(topics, -1)}
        yield FETCH, 11, {**_everything(topics), "isolation_level": level}
    yield from ((OFFSET_FETCH, 7, {"group_id": each, "topics": indexes, "require_stable": True}) for each in groups)
    yield DESCRIBE_GROUPS, 5, {"groups": groups}


def _shares_ending(script: Script, versions: Versions) -> Iterator[tuple[int, int, Json]]:
    """Yield requests for the final state of share groups and of their offsets."""
    groups = [group(number) for number in range(1, script.groups + 1)]
    yield SHARE_GROUP_DESCRIBE, 1, {"group_ids": groups}
    yield DESCRIBE_SHARE_GROUP_OFFSETS, 1, {"groups": [{"group_id": each, "topics": None} for each in groups]}
    yield LIST_GROUPS, versions[LIST_GROUPS][1], {}


def _streams_ending(script: Script, versions: Versions) -> Iterator[tuple[int, int, Json]]:
    """Yield requests for the final state of streams groups and of their offsets."""
    groups = [group(number) for number in range(1, script.groups + 1)]
    yield STREAMS_GROUP_DESCRIBE, versions[STREAMS_GROUP_DESCRIBE][1], {"group_ids": groups}
    yield LIST_GROUPS, versions[LIST_GROUPS][1], {}
    yield OFFSET_FETCH, 9, {"groups": [{"group_id": each, "topics": None} for each in groups]}


def _ends(topics: list[tuple[Expr, int]], timestamp: int) -> Json:
    return [
        {"name": name, "partitions": [{"partition_index": at, "timestamp": timestamp} for at in range(count)]} for name, count in topics
    ]


def _everything(topics: list[tuple[Expr, int]]) -> dict[str, Json]:
    """Return the fields of a Fetch that gets all stored records of these topics."""
    asked = [
        {"topic": name, "partitions": [{"partition": at, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for at in range(count)]}
        for name, count in topics
    ]
    return {"replica_id": -1, "max_bytes": 1 << 20, "topics": asked}


def _log_ending(script: Script, versions: Versions) -> Iterator[tuple[int, int, Json]]:
    """Yield requests for the final state of the log: metadata, both offsets of every partition, and all stored records."""
    topics = [(topic(number), need.partitions) for number, need in enumerate(script.topics, 1)]
    named = {"topics": [{"name": name} for name, _ in topics], "allow_auto_topic_creation": False}
    yield METADATA, min(versions[METADATA][1], 12), named
    for timestamp in (-2, -1):
        yield LIST_OFFSETS, min(versions[LIST_OFFSETS][1], 6), {"replica_id": -1, "topics": _ends(topics, timestamp)}
    yield from ((FETCH, min(versions[FETCH][1], 11), _everything([each])) for each in topics)
