"""Text from a peer is escaped where it could move the cursor, change the direction or start a new line."""

from __future__ import annotations

import json
import sys
import unicodedata

from cases import for_each

from groupmock.text.printable import ascii_json, lines, one_line, printable, quoted

SCRIPTS = (
    "orders-12.v2_x", "größer", "заказы", "παραγγελίες", "الطلبات", "הזמנות", "注文グループ", "주문", "คำสั่งซื้อ", "ऑर्डर", "می\u200cخواهم",
    "👩\u200d👩\u200d👧", "a b\u00a0c\u3000d", "'quoted' \"twice\"", "€ ½ ™ †",
)  # fmt: skip


@for_each("text", SCRIPTS)
def test_what_a_script_writes_stays(text: str) -> None:
    assert printable(text) == one_line(text) == text


@for_each(
    "pair",
    [
        ("\x1b[31mred", r"\x1b[31mred"), ("a\nb\r\tc", r"a\nb\r\tc"), ("\0\x07\x08", r"\x00\x07\x08"), ("\x7f", r"\x7f"),
        ("\x85\x9b31m", r"\x85\x9b31m"), ("\u202egnp.exe", r"\u202egnp.exe"), ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\u2028\u2029", r"\u2028\u2029"), ("\ud800x\udfff", r"\ud800x\udfff"), ("\ufeffx\u200b", r"\ufeffx\u200b"),
        ("\u061c\u200e\u200f", r"\u061c\u200e\u200f"), ("\U000e0041", r"\U000e0041"),
    ],
)  # fmt: skip
def test_what_nobody_sees_is_escaped(pair: tuple[str, str]) -> None:
    text, shown = pair
    assert printable(text) == one_line(text) == shown


def test_no_character_that_steers_is_left() -> None:
    """The test tries all of Unicode: controls, surrogates, line separators, and characters that change the direction."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    for shown in (printable(everything), one_line(everything)):
        assert len(shown.splitlines()) == 1
        assert [hex(ord(each)) for each in shown if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")] == []
        assert [hex(ord(each)) for each in shown if unicodedata.bidirectional(each) in TURNS] == []
        assert len(shown.encode()) > sys.maxunicode  # Surrogates cannot be encoded as UTF-8, but the escaped text can.


TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def test_two_texts_never_look_the_same() -> None:
    texts = ["\x1b", "\\x1b", "\\\\x1b", "\\", "\\\\", "\n", "\\n", "\u202e", "\\u202e", "'\\''", "'\\\\''", "é", "\\xe9"]
    assert len({printable(text) for text in texts}) == len(texts)
    assert printable("C:\\new") == "C:\\\\new"


def test_a_quotation_ends_where_it_ends() -> None:
    assert quoted("plain") == '"plain"'
    texts = ['a" said "b', 'a\\" said \\"b', "a\\", '\\"', '"', "a\n"]
    assert [json.loads(quoted(text)) for text in texts] == texts


def test_a_line_of_ours_keeps_its_backslashes() -> None:
    """Values in the line are escaped already, and a second escape would change them."""
    line = "no topic {!r} in {!r}".format("a\x1b", "C:\\new")
    assert one_line(line) == line
    assert one_line(one_line("a\x1b\n")) == one_line("a\x1b\n")
    assert one_line(ValueError("a\nb")) == r"a\nb"


def test_lines_of_ours_stay_lines() -> None:
    assert lines("a\nb\x1b\r\n\u2028c") == "a\nb\\x1b\\r\n\\u2028c"


@for_each("value", ["plain", "größer", "\u2028\u0085\x7f", "a 😀 and 😀😀", "\\u2028 \"'"])
def test_json_in_ascii_is_the_same_json(value: str) -> None:
    data = json.dumps({value: [value, 1]}, ensure_ascii=False).encode() + b"\n"
    told = ascii_json(data)
    assert told.isascii() and b"\x7f" not in told and told.count(b"\n") == 1
    assert json.loads(told) == json.loads(data)


def test_json_that_is_ascii_is_not_copied() -> None:
    data = b'{"a":"b\\u2028"}\n'
    assert ascii_json(data) is data
