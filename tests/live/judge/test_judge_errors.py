"""The codec's error table equals Kafka's 4.4, and those of older releases are prefixes."""

from __future__ import annotations

from pathlib import Path

from groupmock_codec import error_codes

from .oracle import RELEASES, run

SINCE_3 = {error_codes.CONCURRENT_TRANSACTIONS}  # CONCURRENT_TRANSACTIONS became retriable after Kafka 2.8.


def test_error_codes_are_kafkas(release: str) -> None:
    rows = [line.split() for line in run(release, Path(__file__).with_name("KafkaErrors.java")).splitlines()]
    theirs = {int(code): (name, retriable == "true") for code, name, retriable in rows}
    later = SINCE_3 if release == "2.8.2" else set()
    ours = {code: (name, code in error_codes.RETRIABLE and code not in later) for code, name in error_codes.NAMES.items() if code in theirs}
    assert ours == theirs
    assert release != RELEASES[-1] or len(theirs) == len(error_codes.NAMES)
