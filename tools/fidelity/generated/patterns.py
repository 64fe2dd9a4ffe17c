"""Convert answers to patterns of the exchange language, with names for values that a broker draws."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any, Final

from groupmock_clients.probe.language.exchange import Send
from groupmock_clients.probe.language.printing import in_quotes, literal_text, quoted
from groupmock_clients.probe.language.scope import NO_TOPIC
from groupmock_codec.api_keys import CONSUMER_GROUP_DESCRIBE, JOIN_GROUP, LIST_GROUPS, METADATA
from groupmock_codec.records import iter_batches

from .answers_json import NULL_NOT_ALLOWED
from .script import Json, asks_for_topics, key_of
from .transcript import Facts

DRAWN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
MEMBER_IDS: Final = frozenset({"member_id", "leader"})
OF_THE_BROKER: Final = frozenset({"host", "port", "cluster_id", "controller_id"})
"""Fields of answers whose values depend on the broker."""
SET_BY_THE_ORACLE: Final = frozenset({"flush.ms", "retention.bytes"})
"""Configs to which the oracle gives values of its own (canonical.py)."""
OF_A_NODE: Final = frozenset({"node_id", "leader_id", "replica_nodes", "isr_nodes", "offline_replicas"})
NUMBERS: Final = {
    "session_id": ("s", 1),
    **dict.fromkeys(("producer_id", "v3_and_below_producer_id", "producer_id_filters"), ("p", 0)),
}
"""Maps a field with a number that the broker draws or counts to the prefix of its names and to the least valid number."""
BY_HASH: Final = frozenset({0, 2, METADATA, 8, 9, 15, 19, 20, 21, 32, 33, 37, 42, 44, 47, 75, 76, 77, 78, 79, 88, 90})
"""The APIs whose answers list structures in an order that depends on names, by hash or sorted."""
UNORDERED: Final = frozenset({(JOIN_GROUP, "members"), (CONSUMER_GROUP_DESCRIBE, "subscribed_topic_names"), (77, "subscribed_topic_names")})
"""Lists whose order depends on ids that the broker draws, or on the names of a run, by API and field."""
OF_THE_WALL_CLOCK: Final = frozenset({"transaction_start_time_ms", "last_timestamp", "timestamp"})
DAY_MS: Final = 86_400_000
PRODUCER_ID: Final = slice(43, 51)
OF_THE_CLOCK: Final = re.compile(r"within \[-?\d+, \d+\]")
OF_HASHED_NAMES: Final = re.compile(r"Internal topics are missing: |Existing topic |Number of partitions \[")
"""Texts that list topics, or choose one, in an order that depends on the names of a run."""
TOPIC_NAMES: Final = frozenset({"name", "topic", "topics", "resource_name"})


class Patterns:
    """Converts the answers of one play to patterns, in the order in which they came."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._topics = {fact.name: f"t{at}" for at, fact in enumerate(facts.topics, 1)}
        self._topic_ids = {fact.topic_id: f"t{at}.id" for at, fact in enumerate(facts.topics, 1)}
        self._groups = {name: "group" if at == 1 else f"group{at}" for at, name in enumerate(facts.groups, 1)}
        self._drawn: dict[tuple[str, Any], str] = {}

    def answer(self, step: Send, answer: dict[str, Json]) -> str:
        """Return the expectation `25 field=pattern ...` for an answer, and remember the names of its values."""
        everything = key_of(step) == METADATA and not asks_for_topics(step)
        words = [str(answer["error_code"])] if "error_code" in answer else []
        for name, value in answer.items():
            if name not in ("throttle_time_ms", "error_code"):
                words.append(f"{name}={self._pattern(key_of(step), name, value, everything)}")
        return " ".join(words) or ("throttle_time_ms=0" if "throttle_time_ms" in answer else "any")

    def _captured(self, kind: str, value: Any) -> str:
        """Return the pattern of a value that the broker drew, which has the same name wherever the value appears."""
        return f"?{self._drawn.setdefault((kind, value), f'{kind}{sum(each == kind for each, _ in self._drawn) + 1}')}"

    def _pattern(self, key: int, field: str, value: Json, everything: bool = False) -> str:
        if field in OF_THE_BROKER or value == NULL_NOT_ALLOWED:
            return "*"
        if isinstance(value, list):
            return self._list(key, field, value, everything)
        if isinstance(value, dict) and "bytes" in value:
            return self._bytes(field, b64decode(value["bytes"]))
        if isinstance(value, dict) and value.get("name") in SET_BY_THE_ORACLE:
            return f"{{name: {quoted(value['name'])}}}"
        if isinstance(value, dict):
            nobodys = ("producer_id",) if value.get("error_code") else ()
            fields = (f"{name}: {each if name in nobodys else self._pattern(key, name, each)}" for name, each in value.items())
            return "{" + ", ".join(fields) + "}"
        if isinstance(value, str):
            return self._text(field, value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._number(field, value)
        return literal_text(value)

    def _list(self, key: int, field: str, value: list[Json], everything: bool) -> str:
        if key == LIST_GROUPS and field == "groups":
            mine = [each for each in value if each["group_id"] in self.facts.groups]
            inner = ", ".join(self._pattern(key, "", each) for each in mine)
            return f"has({inner})" if mine else "lacks({group_id: $group})"
        if key == METADATA and field == "topics" and everything:
            mine = [each for each in value if each["name"] in self._topics]
            return f"has({', '.join(self._pattern(key, '', each) for each in mine)})" if mine else "*"
        inner = ", ".join(self._pattern(key, field, each) for each in value)
        free = (key, field) in UNORDERED or (key in BY_HASH and isinstance(value[0] if value else None, dict))
        return f"set[{inner}]" if free and len(value) > 1 else f"[{inner}]"

    def _text(self, field: str, value: str) -> str:
        if field in MEMBER_IDS and DRAWN.search(value):
            return self._captured("id", value)
        if OF_THE_CLOCK.search(value) or OF_HASHED_NAMES.match(value):
            return "*"
        stem, mark, number = value.rpartition("-x")
        if mark and [stem] == self.facts.groups[:1] and number.isdigit():
            return f'"${{group}}-x{number}"'
        if field in TOPIC_NAMES and value in self._topics:
            return f"${self._topics[value]}"
        if value in self._groups:
            return f"${self._groups[value]}"
        return self._in_text(value) or quoted(value)

    def _in_text(self, text: str) -> str:
        """Return a text in which references stand for the names in it, or "" if it contains none."""
        names = {**{real: name for (kind, real), name in self._drawn.items() if kind == "id"}, **self._groups, **self._topics}
        ours = [rf"{re.escape(real)}(?!\w|-\D)" for real in sorted(names, key=len, reverse=True)]
        # This pattern matches the names of missing topics and groups (memory.py), and regular expressions for such names.
        ours.append(rf"{re.escape(self.facts.stem)}(?=-(?:no-|t|\.))")
        said, count = re.subn(rf"(?<![\w-])(?:{'|'.join(ours)})", lambda match: f"${{{names.get(match[0], 'stem')}}}", text)
        return in_quotes(said) if count else ""

    def _bytes(self, field: str, data: bytes) -> str:
        if (field == "records" and _has_producer(data)) or f"{self.facts.stem}-no-".encode() in data:
            # These bytes are not compared, because they contain producer ids and times of markers, which differ on every broker, or names
            # of missing topics, which differ in every play.
            return "*"
        if field.startswith("topic_id"):
            if data in self._topic_ids:
                return f"${self._topic_ids[data]}"
            if any(data) and data != NO_TOPIC:
                return self._captured("tid", data)
        return literal_text(data)

    def _number(self, field: str, value: int) -> str:
        if field in OF_THE_WALL_CLOCK and abs(value - self.facts.epoch_ms) < DAY_MS:
            return "*"
        if field in NUMBERS and value >= NUMBERS[field][1]:
            return self._captured(NUMBERS[field][0], value)
        if field in OF_A_NODE and value == self.facts.node:
            return "?node"
        return str(value)


def _has_producer(data: bytes) -> bool:
    """Tell whether the bytes, which may be cut, contain a batch with a producer id."""
    return len(data) > PRODUCER_ID.start and any(batch.producer_id >= 0 for batch in iter_batches(data, cut=True))
