"""The reason why a text is not JSON is the same sentence whatever exception the installed msgspec raises for it."""

from __future__ import annotations

import msgspec
import pytest

from groupmock.text.not_json import NOT_JSON, why_not_json


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a": "\xff"}', "not UTF-8: invalid start byte"),
        (b'{"a": "\xc3"}', "not UTF-8: invalid continuation byte"),
        (b'{"a": "\xc3', "not UTF-8: unexpected end of data"),
        (b"[" * 100_000, "nested too deep"),
        (b"[1,]", "JSON is malformed: trailing comma in array (byte 3)"),
    ],
)
def test_reason_does_not_depend_on_the_exception(text: bytes, reason: str) -> None:
    with pytest.raises(NOT_JSON) as refused:
        msgspec.json.decode(text)
    assert why_not_json(text, refused.value) == reason


def test_an_exception_for_bytes_that_are_not_utf_8_is_read_from_the_bytes() -> None:
    """msgspec raised UnicodeDecodeError up to 0.22 and raises DecodeError since."""
    text = b'{"a": "\xff"}'
    either = (UnicodeDecodeError("utf-8", text, 7, 8, "invalid start byte"), msgspec.DecodeError("Invalid UTF-8 encoded string"))
    assert {why_not_json(text, refusal) for refusal in either} == {"not UTF-8: invalid start byte"}
