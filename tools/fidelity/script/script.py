"""One generated multi-client exchange as data. It is made before it is played; all that only a run can know is symbolic.

`Send.fields` is the request as JSON: field names in snake_case, nested lists and dicts, and where a value stands it may be

    {"bytes": "<base64>"}          bytes (a bare string is text)
    {"$": "A.member_id"}           what client A remembers of its answers (memory.py): member_id, generation, leader, protocol_type, ...
    {"$": "#12.responses.0.name"}  a path into the answer of step 12; both kinds with "+": N to add to it
    {"group": 1}  {"topic": 1}     the script's own first group, its first topic; beyond the last one: a name that does not exist
    {"topic_id": 1}                that topic's id; beyond the last one: an id that does not exist
    {"id": 1}                      a transactional id of the script's own
    {"records": ["a"], ...}        one batch of a producer's: producer_id, producer_epoch, sequence, transactional
    {"assign": ["A", "B"]}         SyncGroup's assignments for these clients; empty unless the sender's last JoinGroup made it the leader

A reference to what no answer has told leaves the field at its default (member id "", generation -1).
"""

from __future__ import annotations

from typing import Any

import msgspec

Json = Any
"""What JSON can say; checked where a message is built of it."""
ENDING = "~"
"""The client that asks for the final state (`ending`); no generated client has this name."""
IDS = (1, 2)
"""The transactional ids of a script about transactions: `{"id": 1}`; others are nobody's."""


class TopicNeed(msgspec.Struct, omit_defaults=True):
    """A topic that must be there. `own`: made for this script alone; others are shared by all scripts, which must not change them."""

    partitions: int = 4
    own: bool = False
    configs: dict[str, str] = {}


class Send(msgspec.Struct, omit_defaults=True, tag="send", tag_field="do"):
    """A client sends one request. `connection`: its name where the client uses a further one ("A2"); `client_id`: the header's."""

    client: str
    key: int
    version: int
    fields: dict[str, Json] = {}
    connection: str | None = None
    client_id: str | None = "c"

    @property
    def link(self) -> str:
        """The connection's name."""
        return self.connection or self.client


class Raw(msgspec.Struct, omit_defaults=True, tag="raw", tag_field="do"):
    """A client sends bytes (base64 in JSON), with their length in front if `framed`."""

    client: str
    data: bytes
    framed: bool = True
    connection: str | None = None

    @property
    def link(self) -> str:
        """The connection's name."""
        return self.connection or self.client


class Drop(msgspec.Struct, omit_defaults=True, tag="drop", tag_field="do"):
    """A connection ends: closed ("fin") or reset ("rst"). What was sent on it is done, its answers are lost."""

    client: str
    how: str = "fin"
    connection: str | None = None

    @property
    def link(self) -> str:
        """The connection's name."""
        return self.connection or self.client


class Pause(msgspec.Struct, tag="pause", tag_field="do"):
    """Let time pass."""

    ms: int


class Reconnect(msgspec.Struct, omit_defaults=True, tag="reconnect", tag_field="do"):
    """A new connection in the place of an old one, which is closed if it still is open."""

    client: str
    connection: str | None = None

    @property
    def link(self) -> str:
        """The connection's name."""
        return self.connection or self.client


Step = Send | Raw | Drop | Pause | Reconnect


class Script(msgspec.Struct, omit_defaults=True):
    """One exchange. `settings` names a class of broker settings (settings_classes.py); `groups`: how many groups it calls its own."""

    family: str
    seed: int
    release: str
    settings: str
    steps: list[Step]
    groups: int = 1
    topics: list[TopicNeed] = []

    @property
    def about(self) -> str:
        """What it is about, and so what its ending asks: groups, log, transactions, bytes. What people wrote: one of the first two."""
        if self.family != "exchanges":
            return self.family
        return "log" if any(need.own for need in self.topics) else "groups"

    def clients(self) -> list[str]:
        """Who takes part, in order of appearance."""
        return list(dict.fromkeys(step.client for step in self.steps if not isinstance(step, Pause)))

    def before(self, index: int) -> list[int]:
        """The requests (numbers of steps) that the connection of that step has sent until then, oldest first. A new one has sent none."""
        here = self.steps[index] if 0 <= index < len(self.steps) else None
        sent: list[int] = []
        if here is None or isinstance(here, Pause):
            return sent
        for at, step in enumerate(self.steps[:index]):
            if not isinstance(step, Pause) and step.link == here.link:
                sent = [] if isinstance(step, Reconnect | Drop) else [*sent, at]
        return sent


# -- references --------------------------------------------------------------------------------------------------------


def without(script: Script, gone: set[int]) -> Script:
    """The script without these steps; references to later steps' answers move along, those to what is gone become null."""
    moved: dict[int, int] = {}
    for index in range(len(script.steps)):
        if index not in gone:
            moved[index] = len(moved)
    steps: list[Step] = []
    for index, step in enumerate(script.steps):
        if index in moved:
            steps.append(msgspec.structs.replace(step, fields=_renumbered(step.fields, moved)) if isinstance(step, Send) else step)
    return msgspec.structs.replace(script, steps=steps)


def _renumbered(value: Json, moved: dict[int, int]) -> Json:
    if isinstance(value, list):
        return [_renumbered(each, moved) for each in value]
    if not isinstance(value, dict):
        return value
    path = value.get("$")
    if isinstance(path, str) and path.startswith("#"):
        number, _, rest = path[1:].partition(".")
        return {**value, "$": f"#{moved[int(number)]}.{rest}"} if int(number) in moved else None
    return {name: _renumbered(each, moved) for name, each in value.items()}


# -- the end of every script -------------------------------------------------------------------------------------------


def ending(script: Script, versions: dict[int, tuple[int, int]]) -> list[Step]:
    """What the player asks when the script is over: the state of its groups (groups), of its topics (log); nothing for bytes."""
    if script.about == "groups":
        return _groups_ending(script, versions)
    if script.about == "transactions":
        return _transactions_ending(script, versions)
    return _log_ending(script, versions) if script.about == "log" else []


def _groups_ending(script: Script, versions: dict[int, tuple[int, int]]) -> list[Step]:
    groups = [{"group": number + 1} for number in range(script.groups)]
    fetch = min(versions[9][1], 9)
    if fetch >= 8:
        offsets = [Send(ENDING, 9, fetch, {"groups": [{"group_id": group, "topics": None} for group in groups]})]
    else:
        offsets = [Send(ENDING, 9, fetch, {"group_id": group, "topics": None}) for group in groups]
    return [
        Send(ENDING, 15, versions[15][1], {"groups": groups}),
        Send(ENDING, 16, versions[16][1], {}),
        *offsets,
    ]


def _transactions_ending(script: Script, versions: dict[int, tuple[int, int]]) -> list[Step]:
    """What coordinators, partitions and groups know of the producers, and what a reader of either level gets."""
    topics = [({"topic": number}, need.partitions) for number, need in enumerate(script.topics, 1)]
    groups = [{"group": number + 1} for number in range(script.groups)]
    wanted = [{"name": name, "partition_indexes": list(range(count))} for name, count in topics]
    steps: list[Step] = [Send(ENDING, 61, versions[61][1], {"topics": wanted})]
    if 65 in versions:
        steps.insert(0, Send(ENDING, 65, versions[65][1], {"transactional_ids": [{"id": number} for number in IDS]}))
    for level in (0, 1):
        latest = [{"name": name, "partitions": [{"partition_index": at, "timestamp": -1} for at in range(count)]} for name, count in topics]
        steps.append(Send(ENDING, 2, 6, {"replica_id": -1, "isolation_level": level, "topics": latest}))
        steps.append(Send(ENDING, 1, 11, _everything(topics, level)))
    offsets = [{"name": name, "partition_indexes": list(range(count))} for name, count in topics]
    steps += [Send(ENDING, 9, 7, {"group_id": group, "topics": offsets, "require_stable": True}) for group in groups]
    return [*steps, Send(ENDING, 15, 5, {"groups": groups})]


def _everything(topics: list[tuple[Json, int]], level: int) -> dict[str, Json]:
    """A Fetch of all that is stored."""
    asked = [
        {"topic": name, "partitions": [{"partition": at, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for at in range(count)]}
        for name, count in topics
    ]
    return {"replica_id": -1, "max_bytes": 1 << 20, "isolation_level": level, "topics": asked}


def _log_ending(script: Script, versions: dict[int, tuple[int, int]]) -> list[Step]:
    """Metadata, both ends of every partition, and all that is stored."""
    names = [{"topic": number + 1} for number in range(len(script.topics))]
    steps: list[Step] = [
        Send(ENDING, 3, min(versions[3][1], 12), {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False})
    ]
    for timestamp in (-2, -1):
        topics = [
            {"name": name, "partitions": [{"partition_index": index, "timestamp": timestamp} for index in range(need.partitions)]}
            for name, need in zip(names, script.topics, strict=True)
        ]
        steps.append(Send(ENDING, 2, min(versions[2][1], 6), {"replica_id": -1, "topics": topics}))
    for name, need in zip(names, script.topics, strict=True):
        partitions = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for index in range(need.partitions)]
        fields = {"replica_id": -1, "max_bytes": 1 << 20, "topics": [{"topic": name, "partitions": partitions}]}
        steps.append(Send(ENDING, 1, min(versions[1][1], 11), fields))
    return steps
