"""Our error table against Kafka's: complete and equal for 4.3, a prefix for the older releases."""

from __future__ import annotations

from pathlib import Path

from groupmock_codec.errors import ErrorCode

from .oracle import run

SINCE_3 = {ErrorCode.CONCURRENT_TRANSACTIONS}  # became retriable after 2.8


def test_error_codes_are_kafkas(release: str) -> None:
    rows = [line.split() for line in run(release, Path(__file__).with_name("KafkaErrors.java")).splitlines()]
    theirs = {int(code): (name, retriable == "true") for code, name, retriable in rows}
    later = SINCE_3 if release == "2.8.2" else set()
    ours = {int(code): (code.name, code.retriable and code not in later) for code in ErrorCode if code in theirs}
    assert ours == theirs
    assert release != "4.3.0" or len(theirs) == len(ErrorCode)
