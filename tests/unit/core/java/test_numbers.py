"""Numbers are parsed and printed as in Java; each case was checked on Kafka 4.3.0 (IncrementalAlterConfigs and DescribeConfigs)."""

from __future__ import annotations

import math

from cases import for_each

from groupmock.core.java.numbers import double, double_text, trimmed, whole_number


@for_each(
    "text, written",
    [
        ("NaN", "NaN"), ("-NaN", "NaN"), ("+NaN", "NaN"), ("Infinity", "Infinity"), ("-Infinity", "-Infinity"), ("1e400", "Infinity"),
        ("1e999999999", "Infinity"), ("9" * 400, "Infinity"), ("1" * 5000, "Infinity"), ("0x1p10", "1024.0"), ("0x1p99999", "Infinity"),
        ("-0x1p99999", "-Infinity"), ("0x1p-2", "0.25"), ("0x.8p0", "0.5"), ("0X1P-1f", "0.5"), ("0x1.fffffffffffff8p-1", "1.0"),
        ("1d", "1.0"), ("1f", "1.0"), ("0.5D", "0.5"), ("5E-1d", "0.5"), (".5", "0.5"), ("5.", "5.0"), ("-0", "-0.0"), ("1e-400", "0.0"),
        ("0" * 5000 + "1", "1.0"), ("0." + "3" * 5000, "0.3333333333333333"), ("1e-5", "1.0E-5"), ("0.0001", "1.0E-4"),
        ("0.00123", "0.00123"), ("1e+0", "1.0"), ("0.50000000000000000001", "0.5"),
    ],
)  # fmt: skip
def test_double_reads_what_java_reads(text: str, written: str) -> None:
    number = double(text)
    assert number is not None and double_text(number) == written


@for_each(
    "text",
    [
        "nan", "NAN", "inf", "infinity", "-inf", "NaNd", "Infinityf", "0x1", "0x.p1", "1_0", "0_1", "٣", "١e0", "1٢", "0.5l", "++1", "",
        "+", "1e", "e5", "1e5.0", "1,5", "0b1", "\xa00.5", "\ufeff0.5", ".", "d",
    ],
)  # fmt: skip
def test_double_refuses_what_java_refuses(text: str) -> None:
    assert double(trimmed(text)) is None


@for_each(
    "text, number",
    [
        ("+5", 5), ("-5", -5), ("٣", 3), ("٣5", 35), ("５", 5), ("१२", 12), ("-٣", -3), ("7٣", 73), ("-0", 0), ("0" * 5000 + "1", 1),
        ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)),
    ],
)  # fmt: skip
def test_whole_number_reads_digits_of_any_script(text: str, number: int) -> None:
    assert whole_number(text, 63) == number


@for_each(
    "text",
    ["++5", "--5", "+-5", "+", "-", "", "1_0", "0x10", "1l", "1.0", "1e3", "²", "𝟗", "\xa07", "\ufeff7", "9" * 5000, "9223372036854775808"],
)
def test_whole_number_refuses_what_java_refuses(text: str) -> None:
    assert whole_number(trimmed(text), 63) is None


def test_whole_number_has_the_bounds_of_its_type() -> None:
    assert [whole_number("2147483647", 31), whole_number("2147483648", 31), whole_number("-2147483648", 31)] == [2**31 - 1, None, -(2**31)]


def test_trimmed_removes_ascii_controls_and_keeps_other_blanks() -> None:
    assert trimmed("\x00\t 7\x1f ") == "7"
    assert trimmed("\xa07\u2003\x85") == "\xa07\u2003\x85"


def test_double_text_keeps_the_sign_of_zero() -> None:
    assert [double_text(0.0), double_text(-0.0), double_text(math.inf), double_text(1.5e10)] == ["0.0", "-0.0", "Infinity", "1.5E10"]
