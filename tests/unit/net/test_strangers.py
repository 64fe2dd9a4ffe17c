"""Clients that use what is not served get a clear end: TLS and HTTP on a Kafka port, SASL, ACLs, share groups and streams groups. The
log names the remedy once in a while."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cases import for_each

from groupmock.config import profiles
from groupmock.journal.rows import HTTP_REQUEST, NO_ACLS, NO_SASL, TLS_HELLO, UNSERVED, CloseRow
from groupmock.net.strangers import reason
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import Wire, WireRig
from groupmock.watch.log import LogSink
from groupmock_codec.frame import FrameError
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest

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


ACLS = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
ASKED: dict[str, tuple[Callable[[Wire], object], str]] = {
    "TLS": (lambda wire: wire.send(b"\x16\x03\x01\x02\x00\x01"), "set security.protocol=PLAINTEXT in the client"),
    "SASL": (lambda wire: wire.ask(17, 1, SaslHandshakeRequest(mechanism="PLAIN")), f"REFUSED: ILLEGAL_SASL_STATE: {NO_SASL}"),
    "ACLs": (lambda wire: wire.send(request(29, 2, ACLS, 7, "c")), f"DescribeAcls REFUSED: SECURITY_DISABLED: {NO_ACLS}"),
    "a streams group": (lambda wire: wire.send(unserved(88)), "set group.protocol=classic in the Streams application"),
}


def test_what_is_said_not_to_be_served_is_not_served() -> None:
    assert not UNSERVED.keys() & profiles.load("kafka-3.9").versions.keys()


def unserved(key: int) -> bytes:
    """Return an empty request of that API."""
    frame = key.to_bytes(2, "big") + bytes(2) + bytes(4) + b"\xff\xff\0"
    return len(frame).to_bytes(4, "big") + frame


@pytest.mark.parametrize("log", ["text", "rows"])
@for_each(("asks", "remedy"), ASKED.values(), ids=ASKED)
def test_who_asks_for_what_is_not_served_has_a_line_with_the_remedy(
    asks: Callable[[Wire], object], remedy: str, log: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rig = WireRig.make(sinks=[LogSink(log)], profile="kafka-3.9")
    for _ in range(11):
        asks(rig.connect())
        rig.sleep(1)
    first, tenth = [line for line in capfd.readouterr().err.splitlines() if remedy in line]
    assert "warning" in first and "times so far" not in first and tenth.endswith("(10 times so far)")
