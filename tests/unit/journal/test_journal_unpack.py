"""If garbage follows compressed data, every line before the garbage is read exactly once."""

from __future__ import annotations

import gzip
import io

import pytest

from groupmock.journal.unpack import DamagedFile, unpacked_bytes

LINES = b"".join(b'{"kind":"note","seq":%d}\n' % number for number in range(1, 500))


def test_what_comes_before_the_damage_is_given_once() -> None:
    given: list[bytes] = []
    with pytest.raises(DamagedFile):
        given.extend(unpacked_bytes(io.BytesIO(gzip.compress(LINES) + b"garbage")))
    assert b"".join(given) == LINES
