"""The gate refuses docstrings that are fragments or begin like a riddle, and seeds its sample with the last commit."""

from __future__ import annotations

import ast

import pytest

from tools.gate import plain_words

pytestmark = pytest.mark.xdist_group("syntax trees")

SOURCE = '''"""{docstring}"""
LIMIT = 5
"""{docstring}"""
def ask() -> None:
    """{docstring}"""
    # Kafka 3.9 answers twice,
    # because it looks twice.
    ask()  # noqa: X
'''


@pytest.mark.parametrize("docstring", ["Of one play.", "Who is gone is told so when it asks.", "How long a member sleeps.", "Hang up."])
def test_a_riddle_and_a_fragment_are_refused(docstring: str) -> None:
    found = [*plain_words.docstrings("a.py", ast.parse(SOURCE.format(docstring=docstring)))]
    assert [text.name for text in found] == ["the module", "LIMIT", "ask"]
    assert not any(map(plain_words.is_plain, found))


@pytest.mark.parametrize("docstring", ["Return the offsets that the group committed.", "What is a member that left told?"])
def test_a_full_sentence_is_plain(docstring: str) -> None:
    assert all(map(plain_words.is_plain, plain_words.docstrings("a.py", ast.parse(SOURCE.format(docstring=docstring)))))


def test_a_comment_of_two_lines_is_one_text() -> None:
    found = plain_words.comments("a.py", SOURCE, ast.parse(SOURCE))
    assert [text[2:] for text in found] == [("ask", "Kafka 3.9 answers twice, because it looks twice.")]


def test_nothing_new_is_refused_in_this_tree() -> None:
    assert plain_words.refused() == []
