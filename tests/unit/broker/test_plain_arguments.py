"""`serve` reads simple words without argparse, with the same result."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from groupmock.cli._options import add_options, plain_arguments
from groupmock.cli._parser import Parser
from groupmock.config.options import OPTIONS

FLAGS = [f"--{option.name}" for option in OPTIONS] + ["--set", "--config"]
WORDS = st.sampled_from([*FLAGS, "0", "9092", "orders:3", "a=b", "", "-1", "--", "-x", "--help", "--ports", "--port=1", "x y", "-x y"])


def parsed(words: Sequence[str]) -> argparse.Namespace | None:
    """Return what argparse makes of the words, or None if it refuses them or shows its help."""
    parser = Parser(allow_abbrev=False)
    add_options(parser)
    try:
        return parser.parse_args(list(words))
    except SystemExit:
        return None


@given(st.lists(WORDS, max_size=6))
def test_plain_arguments_are_those_of_argparse(words: list[str]) -> None:
    plain = plain_arguments(words)
    if plain is not None:
        assert vars(plain) == vars(parsed(words) or argparse.Namespace())


@for_each("flag", FLAGS)
def test_each_flag_with_a_value_is_plain(flag: str) -> None:
    takes_value = all(option.metavar for option in OPTIONS if f"--{option.name}" == flag)
    words = [flag, "x"] if takes_value else [flag]
    plain = plain_arguments(words)
    assert plain is not None
    assert vars(plain) == vars(parsed(words) or argparse.Namespace())


@pytest.mark.parametrize("words", [["--port"], ["--port=1"], ["--help"], ["serve"], ["--port", "-1"], ["--like-tls", "x"]], ids=" ".join)
def test_other_words_are_left_to_argparse(words: list[str]) -> None:
    assert plain_arguments(words) is None
