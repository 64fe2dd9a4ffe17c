"""The story shortens member ids wherever they begin a word."""

from __future__ import annotations

from groupmock.story.words import MEMBER_ID, ids_shortened

MEMBER = "anna-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"


def test_member_ids_are_shortened_wherever_a_word_begins() -> None:
    assert ids_shortened(f"{MEMBER} left: '{MEMBER}',{MEMBER}:x") == "anna#0a1b left: 'anna#0a1b',anna#0a1b:x"


def test_member_ids_are_looked_for_where_words_begin_alone() -> None:
    """Searching the whole line would make the time grow with the square of the length of a topic name."""
    assert MEMBER_ID.match(MEMBER)
    assert not any(MEMBER_ID.match(MEMBER, start) for start in range(1, len(MEMBER)))
