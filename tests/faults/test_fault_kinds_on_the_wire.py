"""Every kind of fault that affects one request has the right effect for a client, at every group API. conftest.py chooses the versions
and stages."""

from __future__ import annotations

from typing import Any

import pytest
from fault_world import Occasion, World

from groupmock import Broker
from groupmock.faults.plan import BadPlan
from groupmock.rig.wire import Client, request
from groupmock_codec import APIS
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest

PAUSE_S = 9
"""Seconds of a fault's pause by the server's clock, which the test advances. The pause is shorter than the session timeout (10 s) of the
members."""


def strike(world: World, asked: Occasion, do: dict[str, Any] | str, stage: str | None = None) -> str:
    """Register the fault rule, send the request, wait until the rule fired, and return the rule's name."""
    name = world.broker.add_fault(asked.when(), do, stage=stage, times=1)
    asked.send()
    world.broker.wait_for_fault(name)
    return name


def done(asked: Occasion, expected: bool) -> None:
    """Check whether the request was applied, if its effect can be observed."""
    if asked.applied is not None:
        assert asked.applied() is expected


def nothing_comes(world: World, asked: Occasion) -> None:
    """Check that a connection receives no byte although another client was served later."""
    world.wire().ask(18, 0, ApiVersionsRequest())
    assert asked.wire.silent()


def alive(asked: Occasion) -> None:
    """Check that the connection is still served."""
    assert asked.wire.ask(18, 0, ApiVersionsRequest()).error_code == 0


def test_the_occasion_itself_is_answered_as_usual_and_does_something(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    done(asked, False)
    asked.send()
    answer = asked.read()
    assert asked.error(answer) == asked.usual
    done(asked, True)


def test_error(world: World, key: int, version: int, stage: str) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, {"kind": "error", "code": "NOT_COORDINATOR"}, stage)
    assert asked.error(asked.read()) == 16
    done(asked, stage == "reply")
    alive(asked)


def test_delay(world: World, key: int, version: int, stage: str) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, {"kind": "delay", "seconds": PAUSE_S}, stage)
    nothing_comes(world, asked)
    world.broker.step(PAUSE_S)
    assert asked.error(asked.read()) == asked.usual
    done(asked, True)
    alive(asked)


def test_hold(world: World, key: int, version: int, stage: str) -> None:
    asked = world.occasion(key, version)
    name = strike(world, asked, "hold", stage)
    nothing_comes(world, asked)
    done(asked, stage == "reply")
    world.broker.release_fault(name)
    assert asked.error(asked.read()) == asked.usual
    done(asked, True)
    alive(asked)


def test_drop(world: World, key: int, version: int, stage: str) -> None:
    """The fault `drop` also makes the server ignore later requests on the connection."""
    asked = world.occasion(key, version)
    strike(world, asked, "drop", stage)
    asked.wire.send(18, 0, ApiVersionsRequest())
    nothing_comes(world, asked)
    done(asked, stage == "reply")


def test_close(world: World, key: int, version: int, stage: str) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, "close", stage)
    assert asked.wire.rest() == b""
    done(asked, stage == "reply")


def test_reset(world: World, key: int, version: int, stage: str) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, "reset", stage)
    with pytest.raises(ConnectionResetError):
        asked.wire.rest()
    done(asked, stage == "reply")


def test_reset_behind_requests_of_the_same_read_is_no_fin() -> None:
    """uvloop writes at the end of a loop turn, so earlier answers of the same read must not close the connection with a FIN."""
    with Broker() as broker, broker.fault({"api": "ApiVersions", "nth": 2}, "reset"):
        host, _, port = broker.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            client.write(b"".join(request(18, 0, ApiVersionsRequest(), number) for number in (1, 2, 3)))
            with pytest.raises(ConnectionResetError):
                while client.socket.recv(65_536):
                    pass


def test_truncate(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, {"kind": "truncate", "at": 9})
    data = asked.wire.rest()
    assert len(data) == 9 and int.from_bytes(data[:4], "big") > 5
    done(asked, True)


def test_truncate_and_stay_open(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, {"kind": "truncate", "at": 6, "close": False})
    assert len(asked.wire.exactly(6)) == 6
    nothing_comes(world, asked)


def test_split(world: World, key: int, version: int) -> None:
    """The fault `split` sends the first piece of an answer before the second, and the pieces together are the right answer."""
    asked = world.occasion(key, version)
    strike(world, asked, {"kind": "split", "pieces": 2, "seconds": PAUSE_S})
    first = asked.wire.socket.recv(65536)
    assert len(first) < int.from_bytes(first[:4], "big") + 4
    nothing_comes(world, asked)
    world.broker.step(PAUSE_S)
    rest = asked.wire.exactly(int.from_bytes(first[:4], "big") + 4 - len(first))
    assert asked.error(asked.read_frame((first + rest)[4:])) == asked.usual
    alive(asked)


def test_garble(world: World, key: int, version: int) -> None:
    """The fault `garble` changes one byte of the answer behind its length and correlation id."""
    asked = world.occasion(key, version)
    world.broker.add_fault(asked.when(), {"kind": "garble"}, times=1)
    correlation = asked.send()
    frame = asked.wire.receive()
    right = whole_answer(world, asked)[4:]
    assert int.from_bytes(frame[:4], "big") == correlation and len(frame) == len(right)
    assert [place for place, (got, wanted) in enumerate(zip(frame, right, strict=True)) if got != wanted and place >= 4] != []
    assert sum(got != wanted for got, wanted in zip(frame, right, strict=True)) == 1
    done(asked, True)


def test_wrong_correlation_id(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    world.broker.add_fault(asked.when(), {"kind": "wrong_correlation_id", "by": 5}, times=1)
    correlation = asked.send()
    frame = asked.wire.receive()
    assert int.from_bytes(frame[:4], "big") == correlation + 5
    assert asked.error(asked.read_frame(frame)) == asked.usual
    done(asked, True)
    alive(asked)


def test_duplicate(world: World, key: int, version: int) -> None:
    asked = world.occasion(key, version)
    strike(world, asked, "duplicate")
    assert asked.wire.receive() == asked.wire.receive()
    done(asked, True)
    alive(asked)


def test_swallow(world: World, key: int, version: int) -> None:
    """The fault `swallow` lets a request be applied but not answered, so the next answer on the connection belongs to the next request."""
    asked = world.occasion(key, version)
    strike(world, asked, "swallow")
    done(asked, True)
    alive(asked)


def test_throttle_time(world: World, key: int, version: int) -> None:
    """A rule of the kind `throttle_time` is refused with the reason if the response has no throttle_time_ms."""
    asked = world.occasion(key, version)
    do = {"kind": "throttle_time", "seconds": PAUSE_S}
    response = APIS[key].response
    if (key, version) in NO_THROTTLE:
        with pytest.raises(BadPlan, match=rf"throttle_time cannot be at stage reply of {asked.name} v{version}: its answer has no"):
            world.broker.add_fault(asked.when(), do)
        return
    strike(world, asked, do)
    answer = asked.read()
    assert answer.throttle_time_ms == PAUSE_S * 1000, response
    asked.wire.send(18, 0, ApiVersionsRequest())
    nothing_comes(world, asked)
    world.broker.step(PAUSE_S)
    asked.wire.receive()


NO_THROTTLE = {(8, 0), (9, 0), (10, 0), (11, 0), (12, 0), (13, 0), (14, 0), (15, 0), (16, 0)}
"""API key and version of the responses without throttle_time_ms, which KIP-124 added (docs/kafka/apis.md#field-layouts)."""


def whole_answer(world: World, asked: Occasion) -> bytes:
    """Return the answer that the server meant to send, from the last reply row of this connection."""
    from groupmock.journal.rows import ReplyRow
    from groupmock.net.codecs import ApiCodec

    def last() -> ReplyRow:
        ring = world.broker._up().ring
        assert ring is not None
        return next(row for row in reversed(ring.rows) if isinstance(row, ReplyRow) and row.api_key == asked.key)

    row = world.broker._ask(last)
    return ApiCodec(asked.key, asked.version).answer(row.correlation_id.to_bytes(4, "big"), row.message)


@pytest.mark.parametrize("node", [1, 2])
def test_refuse(world: World, node: int) -> None:
    """The fault `refuse` makes only the named node refuse connections. A client of that node reads a reset before it has sent anything."""
    other = world.wire(3 - node)
    with world.broker.fault({"node": node}, "refuse", stage="connect"):
        # The connection may fail already here, because the reset may arrive while the client is still connecting.
        with pytest.raises(ConnectionResetError):
            world.wire(node).rest()
        assert other.ask(18, 0, ApiVersionsRequest()).error_code == 0
    assert world.wire(node).ask(18, 0, ApiVersionsRequest()).error_code == 0


def test_close_at_connect(world: World) -> None:
    with world.broker.fault({"nth": 2}, "close", stage="connect"):
        first, second = world.wire(), world.wire()
        assert second.rest() == b""
        assert first.ask(18, 0, ApiVersionsRequest()).error_code == 0
