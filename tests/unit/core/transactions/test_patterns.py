"""Patterns for transactional ids: what is matched, and what would take Python for ever and is not tried."""

from __future__ import annotations

import pytest
from cases import for_each

from groupmock.core.transactions.patterns import Unreadable, compiled

IDS = ["orders-1", "orders-22", "bills/eu", "a+b", "x" * 200]


@for_each(
    "pattern, wanted",
    [
        ("orders-.*", ["orders-1", "orders-22"]),
        (r"(orders|bills)[-/]\w+", ["orders-1", "orders-22", "bills/eu"]),
        (r"orders-\d{1,2}", ["orders-1", "orders-22"]),
        (r"a\+b", ["a+b"]),
        ("a[+]b", ["a+b"]),
        ("(?:x*)y?", ["x" * 200]),
        (".*s.*", ["orders-1", "orders-22", "bills/eu"]),
    ],
)
def test_what_is_matched(pattern: str, wanted: list[str]) -> None:
    assert [each for each in IDS if compiled(pattern, IDS).fullmatch(each)] == wanted


@for_each(
    "pattern, why",
    [
        ("a(", "no regular expression"),
        ("(a+)+b", "repeats a group"),
        ("(?:a|a)*b", "repeats a group"),
        ("(a+)(?# a comment)+b", "repeats a group"),
        (r"(\)a+)+b", "repeats a group"),
        ("([)]a+){2,}b", "repeats a group"),
        ("(?x)(a+) +b", "flag x"),
        ("a*" * 4 + "b", "4 repetitions"),
        ("a?" * 30 + "a" * 30, "30 choices"),
    ],
)
def test_what_is_not_tried(pattern: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        compiled(pattern, IDS)


def test_it_depends_on_what_there_is_to_match() -> None:
    assert compiled("a*a*a*b", ["a" * 50])
    with pytest.raises(Unreadable, match="too many for the ids that there are"):
        compiled("a*a*a*b", ["a" * 50] * 100)
