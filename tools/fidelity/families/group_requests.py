"""The requests of the groups family as a correct client sends them, and values that spoil them."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from groupmock_codec import api_keys

from ..generated.script import group, topic, topic_id

Fields = dict[str, Any]

TOPICS: Final = 3
"""The number of topics that the family's scripts share: `topic(1)` to `topic(3)`, while topic 4 does not exist."""
PARTITIONS: Final = (4, 6, 2)


def subscription(*topics: str, user_data: bytes = b"", version: int = 0) -> bytes:
    """Encode a Subscription, whose topics need not exist because a coordinator ignores them."""
    names = b"".join(len(name.encode()).to_bytes(2, "big") + name.encode() for name in topics)
    owned = (0).to_bytes(4, "big") if version else b""
    return version.to_bytes(2, "big") + len(topics).to_bytes(4, "big") + names + len(user_data).to_bytes(4, "big") + user_data + owned


def _protocol(name: str, metadata: bytes) -> Fields:
    return {"name": name, "metadata": metadata}


_SHARED: Final = tuple(f"shared-{number + 1}-{count}" for number, count in enumerate(PARTITIONS))
LISTS: Final[tuple[list[Fields], ...]] = (
    [_protocol("range", subscription(_SHARED[0]))],
    [_protocol("range", subscription(_SHARED[0])), _protocol("sticky", subscription(_SHARED[0]))],
    [_protocol("sticky", subscription(_SHARED[0], user_data=b"1")), _protocol("range", subscription(_SHARED[0], _SHARED[1]))],
    [_protocol("cooperative-sticky", subscription(_SHARED[0], version=1)), _protocol("range", subscription(_SHARED[0])),
     _protocol("sticky", subscription(_SHARED[2]))],
    [_protocol("range", subscription())],
    [_protocol("a", b""), _protocol("range", subscription(_SHARED[1]))],
)  # fmt: skip
ODD_LISTS: Final[tuple[list[Fields], ...]] = (
    [],
    [_protocol("roundrobin", subscription(_SHARED[0]))],
    [_protocol("", subscription(_SHARED[0]))],
    [_protocol("range", b"\0\0\0\0\0\5")],
    [_protocol("range", b"")],
    [_protocol("range", subscription(_SHARED[0])), _protocol("range", subscription(_SHARED[1]))],
    [_protocol("range", b"\xff\xff" + subscription(_SHARED[0])[2:])],
    [_protocol(f"p{number}", subscription(_SHARED[0])) for number in range(9)],
)

STALE_IDS: Final = ("", "ghost", "c-00000000-0000-4000-8000-000000000000", "A" * 300)
GENERATIONS: Final = (-1, 0, 1, 2, 7, 2**31 - 1, -(2**31))
INSTANCES: Final = (None, "i1", "i2", "i9", "", "-")

SPOILS: Final[dict[int, dict[str, tuple[Any, ...]]]] = {
    8: {
        "group_id": (group(9),),
        "generation_id_or_member_epoch": GENERATIONS,
        "member_id": STALE_IDS,
        "group_instance_id": INSTANCES,
        "topics": ([],),
    },
    9: {"group_id": (group(9),), "require_stable": (True,)},
    10: {"key": ("", "a:b", "x" * 300), "key_type": (0, 1, 2, 3, -1, 127)},
    11: {
        "group_id": ("", group(9)),
        "member_id": STALE_IDS,
        "group_instance_id": INSTANCES,
        "session_timeout_ms": (0, 50, 99, 100, 1_800_001, -1, 2**31 - 1),
        "rebalance_timeout_ms": (300, 450, 2**31 - 1),
        "protocol_type": ("", "connect", "Consumer"),
        "protocols": ODD_LISTS,
        "reason": (None, "", "x" * 300),
    },
    12: {"group_id": ("", group(9)), "generation_id": GENERATIONS, "member_id": STALE_IDS, "group_instance_id": INSTANCES},
    13: {"group_id": ("", group(9)), "member_id": STALE_IDS, "members": ([],)},
    14: {
        "group_id": ("", group(9)),
        "generation_id": GENERATIONS,
        "member_id": STALE_IDS,
        "group_instance_id": INSTANCES,
        "protocol_type": (None, "", "connect"),
        "protocol_name": (None, "", "sticky", "nope"),
    },
    15: {"groups": ([], [group(1), group(1)], [group(9)]), "include_authorized_operations": (True,)},
    16: {"states_filter": (["nope"], ["stable", " Empty "]), "types_filter": (["classic"], ["CLASSIC", "x"], ["consumer"], [""])},
    42: {"groups_names": ([], [group(9)], [group(1), group(1)])},
    47: {"group_id": ("", group(9)), "topics": ([],)},
}
"""Maps API and field to values that are wrong, stale, unusual or rare.

The group "" is left alone where it can have a state: all scripts would share it.
"""
NEVER_ENDING: Final = (-1, 0, 1)
"""Rebalance timeouts for scripts without static members only, because silent static members would be waited for endlessly."""


def spoil(rng: Random, key: int, fields: Fields, static: bool) -> Fields:
    """Replace one field, sometimes two, by a value that a correct client would not send. `static`: the script has static members."""
    spoilt = dict(fields)
    for name in rng.sample(sorted(SPOILS[key]), 1 if rng.random() < 0.85 else min(2, len(SPOILS[key]))):
        if key == api_keys.JOIN_GROUP and name == "rebalance_timeout_ms" and not static:
            spoilt[name] = rng.choice((*NEVER_ENDING, *SPOILS[key][name]))
        elif key != api_keys.JOIN_GROUP or name != "group_instance_id" or static:
            spoilt[name] = rng.choice(SPOILS[key][name])
    return spoilt


# -- offsets -----------------------------------------------------------------------------------------------------------


def topic_numbers(rng: Random, missing: float = 0.15) -> list[int]:
    """Return some topic numbers in any order, sometimes with a missing topic, rarely with a duplicate."""
    numbers = rng.sample(range(1, TOPICS + 1), rng.choice((1, 1, 1, 2, 2, 3)))
    if rng.random() < missing:
        numbers.insert(rng.randint(0, len(numbers)), TOPICS + 1)
    if rng.random() < 0.05:
        numbers.append(rng.choice(numbers))
    return numbers


def partition_numbers(rng: Random) -> list[int]:
    """Return some partition numbers, sometimes beyond the last one, rarely with a duplicate."""
    return [rng.choice((0, 0, 1, 1, 2, 3, 5, 9)) if rng.random() < 0.97 else -1 for _ in range(rng.choice((1, 1, 2, 2, 3, 5)))]


def commit_topics(rng: Random) -> list[Fields]:
    topics = []
    for number in topic_numbers(rng):
        lines = [_commit(rng, index) for index in partition_numbers(rng)]
        topics.append({"name": topic(number), "topic_id": topic_id(number), "partitions": lines})
    return topics


def _commit(rng: Random, index: int) -> Fields:
    offset = rng.choice((0, 1, 5, 99, 2**40)) if rng.random() < 0.95 else rng.choice((-1, -5, 2**63 - 1))
    metadata = rng.choice(("", "", "note", "ü" * 10, None)) if rng.random() < 0.96 else "m" * rng.choice((4096, 4097))
    line = {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}
    if rng.random() < 0.3:
        line["committed_leader_epoch"] = rng.choice((-1, 0, 3))
    return line


def fetch_topics(rng: Random, by_id: bool) -> list[Fields] | None:
    """Return the topics of an OffsetFetch, with topic ids if `by_id`, or None for all topics."""
    if rng.random() < 0.25:
        return None
    topics = []
    for number in topic_numbers(rng):
        asked: Fields = {"name": topic(number), "partition_indexes": partition_numbers(rng)}
        topics.append({**asked, "topic_id": topic_id(number)} if by_id else asked)
    return topics


def delete_topics(rng: Random) -> list[Fields]:
    return [
        {"name": topic(number), "partitions": [{"partition_index": index} for index in partition_numbers(rng)]}
        for number in topic_numbers(rng)
    ]
