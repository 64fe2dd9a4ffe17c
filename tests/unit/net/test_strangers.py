"""TLS and HTTP on a Kafka port: closed as any frame that is too large, with their name in the row."""

from __future__ import annotations

import pytest
from cases import for_each

from groupmock.journal.rows import HTTP_REQUEST, TLS_HELLO, CloseRow
from groupmock.net.strangers import reason
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire_rig import WireRig
from groupmock.watch.log import LogSink
from groupmock_codec.frame import FrameError

LIMIT = 104_857_600


@for_each(
    ("start", "said"),
    [
        (b"\x16\x03\x01\x02", TLS_HELLO),
        (b"\x16\x03\x03\x00", TLS_HELLO),
        (b"GET ", HTTP_REQUEST),
        (b"POST", HTTP_REQUEST),
        (b"PRI ", HTTP_REQUEST),
        (b"get ", str(FrameError(int.from_bytes(b"get ", "big"), LIMIT))),
        (b"\x16\x04\x01\x02", str(FrameError(0x16040102, LIMIT))),
        (b"\xff\xff\xff\xff", str(FrameError(-1, LIMIT))),
    ],
)
def test_what_four_bytes_say(start: bytes, said: str) -> None:
    assert reason(FrameError(int.from_bytes(start, "big", signed=True), LIMIT)) == said


@pytest.mark.parametrize(("sent", "said"), [(b"\x16\x03\x01\x02\x00\x01", TLS_HELLO), (b"GET / HTTP/1.1\r\n\r\n", HTTP_REQUEST)])
def test_the_connection_is_closed_with_that_reason(sent: bytes, said: str) -> None:
    kept = KeptRows()
    rig = WireRig.make(sinks=[kept])
    wire = rig.connect()
    wire.send(sent)
    assert wire.take() == []
    assert [row.reason for row in kept.rows if isinstance(row, CloseRow)] == [said]


def test_repeated_ones_are_counted_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    sink = LogSink("text")
    for number in range(120):
        sink.take(CloseRow(t=0, connection=number, by="server", reason=TLS_HELLO))
    sink.take(CloseRow(t=0, connection=200, by="server", reason=HTTP_REQUEST))
    lines = capfd.readouterr().err.splitlines()
    assert [line.rpartition(" (")[2] for line in lines[1:3]] == ["10 times so far)", "100 times so far)"]
    assert len(lines) == 4 and lines[0].endswith(TLS_HELLO) and lines[3].endswith(HTTP_REQUEST)
