"""Regular expressions match as in Kafka 4.3, with recorded results, peculiarities of RE2/J, and limited work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each

from groupmock.core.re2j.classes import complement, folded, holds, of_property, united
from groupmock.core.re2j.matching import TOO_MUCH_WORK, compiled
from groupmock.core.re2j.syntax import MOST_NODES, NESTED, TOO_LARGE, RegexRefused, parsed

RECORDED: Final = json.loads((Path(__file__).resolve().parents[3] / "data" / "subscribed_regexes.json").read_text(encoding="utf-8"))


def refusal(pattern: str) -> str:
    """Return the error text of a bad expression."""
    with pytest.raises(RegexRefused) as refused:
        compiled(pattern)
    return refused.value.detail


@for_each("row", RECORDED["rows"], ids=lambda row: row["regex"])
def test_what_kafka_made_of_it(row: dict[str, Any]) -> None:
    if "matches" in row:
        matcher = compiled(row["regex"])
        assert sorted(topic for topic in RECORDED["topics"] if matcher.matches(topic)) == sorted(row["matches"])
    else:
        said = f"SubscribedTopicRegex `{row['regex']}` is not a valid regular expression: {refusal(row['regex'])}."
        assert (row["error"], said) == (128, row["message"])


@for_each(
    "pattern, text, matches",
    [
        (r"(?m)a$\n^b", "a\nb", True),
        (r"a$\n^b", "a\nb", False),
        (r"(?m)^$", "\n", False),
        (r".+", "a\nb", False),
        (r"(?s).+", "a\nb", True),
        (r"a\b-\b-", "a--", False),
        (r"a\b-\B-", "a--", True),
        (r"\b", "", False),
        (r"\B", "", True),
        (r"(?i)k", "\u212a", True),
        (r"(?i)[^k]", "\u212a", False),
        (r"(?i)\W", "\u017f", False),
        (r"(?i:(?-i:a)b)c", "aBc", True),
        (r"(?i:(?-i:a)b)c", "ABc", False),
        (r"(?i)a|(?-i)b", "B", False),
        (r"((?i)a)b", "AB", False),
        (r"a*(?i)*b", "aab", True),
        (r"\Qa*\E*", "a**", True),
        (r"(a|ab)(c|bcd)(d*)", "abcd", True),
        (r"(?:)*", "", True),
        (r"(a*)*b{2,}", "aabb", True),
        (r"(|a){3}b", "aab", True),
        (r"(?:ab){0,2}(?:c){0}", "abab", True),
        (r"x{2,4}", "xxxxx", False),
        (r"x{2,4}", "xxx", True),
        (r"x{3,}", "xx", False),
        (r"[[:^word:]é-ü-]+", "é-è.", True),
        (r"[^\x{10000}]", "\U00010000", False),
        (r"[^\x00-\x{10ffff}]", "a", False),
    ],
)
def test_what_is_matched(pattern: str, text: str, matches: bool) -> None:
    assert compiled(pattern).matches(text) is matches


@for_each("pattern", ["a{*", "{?", "a**", "a{2}{3}", "a*??"])
def test_a_brace_that_opens_nothing_counts_as_a_repetition(pattern: str) -> None:
    assert refusal(pattern) == NESTED


@for_each(
    "pattern", ["((a{100}){100}){100}", "a" * (MOST_NODES + 1), "(a{1000}){5}", "((a{1000}){0}b)" * 100, r"[\pL\pN]" * 200, "(" * 200_000]
)
def test_what_would_make_too_much_is_refused(pattern: str) -> None:
    assert refusal(pattern) == TOO_LARGE


def test_what_python_would_try_for_ever_is_matched() -> None:
    assert not compiled("(a+)+b").matches("a" * 30_000)
    assert compiled("(a|a?)+" + "a?" * 30 + "a" * 30).matches("a" * 30)


def test_many_names_are_matched_within_a_budget() -> None:
    matcher = compiled("orders-[0-9]{1,4}")
    names = [f"orders-{number}" for number in range(2_000)]
    assert matcher.matching([*names, "bills"], most_steps=20_000) == names
    with pytest.raises(RegexRefused, match=TOO_MUCH_WORK):
        matcher.matching(names * 10, most_steps=20_000)
    with pytest.raises(RegexRefused, match=TOO_MUCH_WORK):
        compiled("(.?){900}b").matching(["a" * 249], most_steps=200_000)


def test_what_is_remembered_is_bounded_and_changes_no_answer() -> None:
    matcher = compiled(".*a.{12}")
    texts = [f"{number:b}".replace("1", "a") for number in range(2**12, 2**13)]
    assert [matcher.matches(text + "b" * 12) for text in texts[:200]] == [text.endswith("a") for text in texts[:200]]
    assert [matcher.matches(text) for text in texts] == [len(text) > 12 and text[-13] == "a" for text in texts]


def test_sets_of_characters() -> None:
    assert united([(5, 9), (1, 2), (3, 4), (20, 30), (7, 21)]) == ((1, 30),)
    assert complement(((0, 4), (6, 6))) == ((5, 5), (7, 0x10FFFF))
    assert complement(complement(((3, 4),))) == ((3, 4),)
    assert folded(((0x4B, 0x4B),)) == ((0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A))
    assert holds(of_property("Greek", fold=False) or (), 0x3B1)
    assert not holds(of_property("Greek", fold=False) or (), 0xB5)
    assert holds(of_property("Greek", fold=True) or (), 0xB5)
    assert of_property("Klingon", fold=False) is None


def test_postfix_notation_keeps_nothing_of_groups() -> None:
    assert parsed("(((a)b))c") == parsed("abc") == parsed("(?:a(?P<n>b)c)")
