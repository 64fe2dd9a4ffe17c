"""The requests and answers of a play in the words of the exchange language, with names for what a broker draws."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

from groupmock_clients.probe.language.messages import filled_in
from groupmock_codec import APIS
from groupmock_codec.api_keys import JOIN_GROUP, LIST_GROUPS, METADATA
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.records import RecordsError, decode_records, iter_batches, read_batches

from .message_json import NULL_NOT_ALLOWED, as_json, build
from .references import NO_ID, References
from .script import Json, Script, Send
from .transcript import Transcript, imagined

BARE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
SAID_OTHERWISE: Final = frozenset({"null", "true", "false", "set"})
DRAWN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
MEMBER_IDS: Final = frozenset({"member_id", "leader"})
OF_THE_BROKER: Final = frozenset({"host", "port", "cluster_id", "controller_id"})
"""Fields of answers that each broker fills in its own way."""
SET_BY_THE_ORACLE: Final = frozenset({"flush.ms", "retention.bytes"})
"""Configs whose values are no defaults there, or come from its settings (canonical.py, ORACLE)."""
OF_A_NODE: Final = frozenset({"node_id", "leader_id", "replica_nodes", "isr_nodes", "offline_replicas"})
NUMBERS: Final = {
    "session_id": ("s", 1),
    **dict.fromkeys(("producer_id", "v3_and_below_producer_id", "producer_id_filters"), ("p", 0)),
}
"""Numbers that a broker draws or counts, by field: what their names begin with, the least of them."""
BY_HASH: Final = frozenset({0, 2, METADATA, 8, 9, 15, 19, 20, 21, 32, 33, 37, 42, 44, 47, 75})
"""APIs whose answers list structures in an order that follows from names: of a hash map, or sorted. Other names, another order."""
UNORDERED: Final = frozenset({(JOIN_GROUP, "members")})
"""API and list: the order follows from the ids that were drawn."""
OF_THE_WALL_CLOCK: Final = frozenset({"transaction_start_time_ms", "last_timestamp", "timestamp"})
DAY_MS: Final = 86_400_000
FAR: Final = 1_000_000
"""How much further the ids are of producers that nobody has (transactions_author.py)."""
PRODUCER_ID: Final = slice(43, 51)
OF_THE_CLOCK: Final = re.compile(r"within \[-?\d+, \d+\]")
TOPIC_NAMES: Final = frozenset({"name", "topic", "topics", "resource_name"})
REMEMBERED: Final = ("member_id", "generation", "leader", "protocol_name")
"""What a member of an exchange remembers, under the same names as a script's client."""


def quoted(text: str) -> str:
    """A text as the language takes it."""
    if BARE.fullmatch(text) and text not in SAID_OTHERWISE:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


class Names:
    """What the script calls by number, and what was drawn in this play: real name -> the language's."""

    def __init__(self, script: Script, transcript: Transcript | None) -> None:
        self.facts = transcript.facts if transcript is not None else imagined(script)
        self.groups = script.groups
        self._topics = {fact.name: f"t{at}" for at, fact in enumerate(self.facts.topics, 1)}
        self._topic_ids = {fact.topic_id: f"t{at}.id" for at, fact in enumerate(self.facts.topics, 1)}
        self._groups = {name: "group" if at == 1 else f"group{at}" for at, name in enumerate(self.facts.groups, 1)}
        self._drawn: dict[tuple[str, Any], str] = {}
        self._known: set[str] = set()

    def topic(self, name: str) -> str | None:
        """`t1`, for a topic of the script."""
        return self._topics.get(name)

    def group(self, name: str) -> str | None:
        """`group2`, for a group of the script."""
        return self._groups.get(name)

    def transactional_id(self, name: str) -> str | None:
        """`"${group}-x1"`, for one of the script's own (references.py)."""
        stem, mark, number = name.rpartition("-x")
        return f'"${{group}}-x{number}"' if mark and stem == self.facts.groups[0] and number.isdigit() else None

    def topic_id(self, value: bytes) -> str | None:
        """`t1.id`, for a topic of the script."""
        return self._topic_ids.get(value)

    def drawn(self, kind: str, value: Any) -> str:
        """The name of what an answer has told, from now on."""
        name = self._drawn.setdefault((kind, value), f"{kind}{sum(each == kind for each, _ in self._drawn) + 1}")
        self._known.add(name)
        return name

    def told(self, kind: str, value: Any) -> str | None:
        """The name of what an answer has told before."""
        return self._drawn.get((kind, value))

    def in_text(self, text: str) -> str:
        """A text in which names occur, as the language takes it; "" if none does."""
        names = {**{real: name for (kind, real), name in self._drawn.items() if kind == "id"}, **self._groups, **self._topics}
        ours = [rf"{re.escape(real)}(?!\w|-\D)" for real in sorted(names, key=len, reverse=True)]
        ours.append(rf"{re.escape(self.facts.stem)}(?=-no-)")  # what there is none of (memory.py)
        said, count = re.subn(rf"(?<![\w-])(?:{'|'.join(ours)})", lambda match: f"${{{names.get(match[0], 'group')}}}", text)
        return quoted(said) if count else ""


class Wording:
    """One play, told in order: `request` and `answer` are called as things happened."""

    def __init__(self, names: Names, client_ids: Mapping[str, str | None]) -> None:
        self.names = names
        self._client_ids = client_ids
        self._references = References(names.facts)
        self._members: dict[str, dict[str, Json]] = {}

    # -- requests

    def request(self, index: int, step: Send) -> str:
        """`JoinGroup v5 field=value ...`; what the probe would fill in by itself is said, too."""
        api = APIS[step.key]
        link = step.link
        cls = api.request.message
        message = build(cls, step.version, step.fields, lambda value: self._references.resolve(step.client, value))
        values, standard = as_json(cls, step.version)(message), as_json(cls, step.version)(cls())
        said = {*step.fields, *filled_in(api.name)}
        words = [api.name, f"v{step.version}"]
        if self._client_ids.get(link, step.client_id) != step.client_id:
            words.append(f"client_id={'null' if step.client_id is None else quoted(step.client_id)}")
        for name, value in values.items():
            if value != NULL_NOT_ALLOWED and (name in said or value != standard[name]):
                words.append(f"{name}={self._remembered(link, step.fields.get(name), value) or self._value(name, value)}")
        self._members.setdefault(link, {"member_id": "", "generation": -1, "leader": "", "protocol_name": None})
        return " ".join(words)

    def _remembered(self, link: str, reference: Json, value: Json) -> str | None:
        """`$A.member_id` or `$s1+1`, where the script refers to what a member knows here, too."""
        if not isinstance(reference, dict) or "$" not in reference:
            return None
        plus = reference.get("+", 0)
        base = value - plus if plus and isinstance(value, int) else value
        client, _, name = reference["$"].partition(".")
        offset = f"{plus:+}" if plus else ""
        if name in REMEMBERED and client in self._members and self._members[client][name] == base:
            return f"${client}.{name}{offset}"
        if name in NUMBERS and (known := self.names.told(NUMBERS[name][0], base)) is not None:
            return f"${known}{offset}"
        return None

    def _value(self, field: str, value: Json) -> str:
        if isinstance(value, list):
            return f"[{', '.join(self._value(field, each) for each in value)}]"
        if isinstance(value, dict) and "bytes" in value:
            return self._bytes(b64decode(value["bytes"]), field)
        if isinstance(value, dict):
            kept = ((name, each) for name, each in value.items() if each != NULL_NOT_ALLOWED)
            return "{" + ", ".join(f"{name}: {self._value(name, each)}" for name, each in kept) + "}"
        if isinstance(value, str):
            return self._text(field, value)
        for plus in (0, FAR) if field in NUMBERS else ():
            if (known := self.names.told(NUMBERS[field][0], value - plus)) is not None:
                return f"${known}+{plus}" if plus else f"${known}"
        return _scalar(value)

    def _text(self, field: str, value: str) -> str:
        if (own := self.names.transactional_id(value)) is not None:
            return own
        if field in TOPIC_NAMES and (topic := self.names.topic(value)) is not None:
            return f"${topic}"
        if (group := self.names.group(value)) is not None:
            return f"${group}"
        if (known := self.names.told("id", value)) is not None:
            holder = next((member for member, memory in self._members.items() if memory["member_id"] == value), None)
            return f"${known}" if holder is None else f"${holder}.member_id"
        return self.names.in_text(value) or quoted(value)

    def _batch(self, data: bytes) -> str | None:
        """`transactional($p1, 0, 2, a)`, for a batch of a producer whose id an answer has told, or one that is so much further."""
        try:
            (batch,) = read_batches(data)
            values = [(record.value or b"").decode() for record in decode_records(batch)]
        except (RecordsError, ValueError):
            return None
        for plus in (0, FAR):
            known = self.names.told("p", batch.producer_id - plus)
            if known is not None:
                kind = "transactional" if batch.transactional else "sequenced"
                offset = f"+{plus}" if plus else ""
                words = (f"${known}{offset}", str(batch.producer_epoch), str(batch.base_sequence), *map(quoted, values))
                return f"{kind}({', '.join(words)})"
        return None

    def _bytes(self, data: bytes, field: str) -> str:
        if field == "records" and (batch := self._batch(data)) is not None:
            return batch
        if field.startswith("topic_id"):
            known = self.names.topic_id(data) or self.names.told("tid", data)
            if known is not None:
                return f"${known}"
        return f'x"{data.hex()}"'

    # -- answers

    def answer(self, index: int, step: Send, answer: dict[str, Json]) -> str:
        """`25 field=pattern ...`; what it tells is known from now on."""
        self._references.learn(index, step, answer)
        words = [str(answer["error_code"])] if "error_code" in answer else []
        for name, value in answer.items():
            if name not in ("throttle_time_ms", "error_code"):
                words.append(f"{name}={self._pattern(step, name, value)}")
        if step.key == JOIN_GROUP:
            self._joined(self._members[step.link], answer)
        return " ".join(words) or ("throttle_time_ms=0" if "throttle_time_ms" in answer else "any")

    @staticmethod
    def _joined(memory: dict[str, Json], answer: dict[str, Json]) -> None:
        """What the probe's member takes from it (runner.py)."""
        if answer["error_code"] in (0, MEMBER_ID_REQUIRED):
            memory["member_id"] = answer["member_id"]
        if answer["error_code"] == 0:
            memory |= {"generation": answer["generation_id"], "leader": answer["leader"], "protocol_name": answer["protocol_name"]}

    def _pattern(self, step: Send, field: str, value: Json) -> str:
        if field in OF_THE_BROKER or value == NULL_NOT_ALLOWED:
            return "*"
        if isinstance(value, list):
            return self._list(step, field, value)
        if isinstance(value, dict) and "bytes" in value:
            return self._bytes_pattern(field, b64decode(value["bytes"]))
        if isinstance(value, dict) and value.get("name") in SET_BY_THE_ORACLE:
            return f"{{name: {quoted(value['name'])}}}"
        if isinstance(value, dict):
            nobodys = ("producer_id",) if value.get("error_code") else ()
            fields = (f"{name}: {each if name in nobodys else self._pattern(step, name, each)}" for name, each in value.items())
            return "{" + ", ".join(fields) + "}"
        if isinstance(value, str):
            return self._text_pattern(field, value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._number(field, value)
        return _scalar(value)

    def _list(self, step: Send, field: str, value: list[Json]) -> str:
        if step.key == LIST_GROUPS and field == "groups":
            mine = [each for each in value if each["group_id"] in self.names.facts.groups]
            inner = ", ".join(self._pattern(step, "", each) for each in mine)
            return f"has({inner})" if mine else "lacks({group_id: $group})"
        if step.key == METADATA and field == "topics" and not step.fields.get("topics"):
            mine = [each for each in value if self.names.topic(each["name"]) is not None]
            return f"has({', '.join(self._pattern(step, '', each) for each in mine)})" if mine else "*"
        inner = ", ".join(self._pattern(step, field, each) for each in value)
        free = (step.key, field) in UNORDERED or (step.key in BY_HASH and isinstance(value[0] if value else None, dict))
        return f"set[{inner}]" if free and len(value) > 1 else f"[{inner}]"

    def _text_pattern(self, field: str, value: str) -> str:
        if field in MEMBER_IDS and DRAWN.search(value):
            return f"?{self.names.drawn('id', value)}"
        if OF_THE_CLOCK.search(value):
            return "*"
        return self._text(field, value)

    def _bytes_pattern(self, field: str, data: bytes) -> str:
        if field == "records" and _has_producer(data):
            return "*"  # whose id is another broker's, and markers have its time
        if field.startswith("topic_id") and any(data) and data != NO_ID and self.names.topic_id(data) is None:
            return f"?{self.names.drawn('tid', data)}"
        return self._bytes(data, field)

    def _number(self, field: str, value: int) -> str:
        if field in OF_THE_WALL_CLOCK and abs(value - self.names.facts.epoch_ms) < DAY_MS:
            return "*"
        if field in NUMBERS and value >= NUMBERS[field][1]:
            return f"?{self.names.drawn(NUMBERS[field][0], value)}"
        if field in OF_A_NODE and value == self.names.facts.node:
            return "?node"
        return str(value)


def _has_producer(data: bytes) -> bool:
    """Is there a batch of a producer with an id in it, perhaps cut?"""
    return len(data) > PRODUCER_ID.start and any(batch.producer_id >= 0 for batch in iter_batches(data, cut=True))


def _scalar(value: Json) -> str:
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)
