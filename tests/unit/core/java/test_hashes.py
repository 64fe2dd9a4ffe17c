"""Hash orders equal those of java.util.HashMap and of Scala's mutable and immutable HashMap in Kafka 2.8.2 and 3.9.1."""

from __future__ import annotations

import hashlib
import uuid

from cases import for_each

from groupmock.core.java.hashes import java_hash, partition_for, spread
from groupmock.core.java.orders import java_order, order_key, scala_trie_order, table_for

HASHES = [
    ("", 0),
    ("g", 103),
    ("my-group", -1906497762),
    ("polygenelubricants", -2147483648),
    ("äö", 7314),
    ("\U0001f600 emoji", -1572615351),
    ("z" * 300, 288833408),
]

# Each row has a number n of ids "c-" + UUID.nameUUIDFromBytes("member i") and their iteration order in the Java and the Scala map.
ORDERS = [
    (1, [0], [0]),
    (5, [0, 1, 2, 3, 4], [1, 0, 2, 3, 4]),
    (11, [6, 7, 0, 1, 2, 3, 5, 10, 4, 8, 9], [6, 7, 1, 0, 2, 3, 5, 10, 4, 8, 9]),
    (12, [11, 6, 7, 0, 1, 2, 3, 5, 10, 4, 8, 9], [11, 6, 1, 0, 2, 5, 10, 4, 9, 7, 3, 8]),
    (13, [11, 6, 0, 1, 2, 5, 10, 4, 9, 7, 12, 3, 8], [11, 6, 1, 0, 2, 5, 10, 4, 9, 7, 12, 3, 8]),
    (
        24,
        [11, 6, 13, 0, 1, 2, 5, 10, 4, 22, 21, 9, 19, 7, 12, 23, 14, 15, 3, 16, 17, 20, 8, 18],
        [6, 0, 2, 4, 22, 7, 14, 15, 20, 17, 8, 11, 13, 1, 5, 10, 21, 9, 19, 23, 12, 3, 16, 18],
    ),
    (
        25,
        [6, 0, 2, 4, 22, 24, 7, 14, 15, 17, 20, 8, 11, 13, 1, 5, 10, 21, 9, 19, 12, 23, 3, 16, 18],
        [6, 0, 2, 4, 22, 24, 7, 14, 15, 20, 17, 8, 11, 13, 1, 5, 10, 21, 9, 19, 23, 12, 3, 16, 18],
    ),
]


def name_uuid(text: str) -> str:
    return "c-" + str(uuid.UUID(bytes=hashlib.md5(text.encode()).digest(), version=3))


def order_of(count: int, scala: bool) -> list[int]:
    spreads = [spread(name_uuid(f"member {index}")) for index in range(count)]
    mask = table_for(count, scala=scala) - 1
    return sorted(range(count), key=lambda index: order_key(spreads[index], mask, scala))


@for_each(("text", "signed"), HASHES)
def test_java_string_hash(text: str, signed: int) -> None:
    assert java_hash(text) == signed & 0xFFFFFFFF


@for_each(("count", "java", "scala"), ORDERS, ids=lambda value: str(value) if isinstance(value, int) else "")
def test_member_order_is_the_maps(count: int, java: list[int], scala: list[int]) -> None:
    assert (order_of(count, scala=False), order_of(count, scala=True)) == (java, scala)


@for_each(("group_id", "partition"), [("g", 3), ("my-group", 12), ("test", 48), ("connect-cluster", 13), ("polygenelubricants", 0)])
def test_partition_of_a_group(group_id: str, partition: int) -> None:
    assert partition_for(group_id, 50) == partition


@for_each(
    ("names", "java", "scala"),
    [
        (
            ["range", "cooperative-sticky", "sticky", "roundrobin"],
            ["sticky", "range", "roundrobin", "cooperative-sticky"],
            ["cooperative-sticky", "roundrobin", "range", "sticky"],
        ),
        (["q", "p"], ["p", "q"], ["q", "p"]),
        (["compatible", "default", "sessioned"], ["compatible", "default", "sessioned"], ["compatible", "default", "sessioned"]),
        (list("abcdefgh"), list("abcdefgh"), list("efabgdch")),
    ],
)
def test_orders_of_fresh_maps(names: list[str], java: list[str], scala: list[str]) -> None:
    assert (java_order(names, java_hash), scala_trie_order(names, java_hash)) == (java, scala)


def test_a_map_never_shrinks() -> None:
    assert table_for(4, table_for(13)) == 32
