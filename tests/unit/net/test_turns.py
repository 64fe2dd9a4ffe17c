"""Connections get fair shares of the server, tested by counting: with a clock that counts calls and a loop that the test turns."""

from __future__ import annotations

from itertools import count

from turned_loop import Loop

from groupmock.net.turns import LEAST_NS, Turns
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import Wire, WireRig

TICK = LEAST_NS // 5
"""Time that one call of the clock takes. A queued request calls the clock once, so the smallest share is about five requests."""


def asked(first: int, many: int) -> bytes:
    """Return this many ApiVersions requests with consecutive correlation ids from `first` on."""
    return b"".join(request(18, 0, correlation=first + number) for number in range(many))


def answered(wire: Wire) -> list[int]:
    """Return the correlation ids of the answers since the last call."""
    return [int.from_bytes(frame[:4], "big") for frame in wire.take()]


def crowd(connections: int, slice_us: int = 500) -> tuple[WireRig, Loop, list[Wire]]:
    """Return a rig with time slices, its loop, and its clients."""
    loop, ticks = Loop(), count(0, TICK)
    rig = WireRig.make(turns=Turns(slice_us, lambda: next(ticks), loop.soon))
    return rig, loop, [rig.connect() for _ in range(connections)]


def test_one_peer_is_served_for_a_slice_then_the_loop_has_its_turn() -> None:
    _, loop, (peer, bystander) = crowd(2)
    peer.send(asked(1, 100))
    first = answered(peer)
    assert first == list(range(1, len(first) + 1)) and 0 < len(first) < 50
    assert len(loop.ordered) == 1 and not peer.reading
    bystander.send(asked(1, 1))
    assert answered(bystander) == [1], "a single request does not wait for those that were sent ahead"
    assert answered(peer) == [], "nor is it an occasion to serve them"
    while loop.ordered:
        loop.turn()
    assert first + answered(peer) == list(range(1, 101)) and peer.reading


def test_nobody_is_served_again_before_everybody_was() -> None:
    _, loop, peers = crowd(4, slice_us=2000)
    for peer in peers:
        peer.send(asked(1, 400))
    served = [len(answered(peer)) for peer in peers]
    part = 2000 * 1000 // 4 // TICK + 1
    for _ in range(8):
        loop.turn()
        served = [before + len(answered(peer)) for before, peer in zip(served, peers, strict=True)]
        assert max(served[1:]) - min(served[1:]) <= part, "the first one was alone when it came, and had a slice of its own"
    while loop.ordered:
        loop.turn()
    assert [before + len(answered(peer)) for before, peer in zip(served, peers, strict=True)] == [400] * 4


def test_the_more_wait_the_smaller_is_a_part_and_the_slice_stays_what_it_is() -> None:
    _, loop, peers = crowd(50, slice_us=2000)
    for peer in peers:
        peer.send(asked(1, 300))
    for peer in peers:
        answered(peer)
    rounds = []
    for _ in range(2):
        loop.turn()
        rounds.append([len(answered(peer)) for peer in peers])
    for parts in rounds:
        assert max(parts) <= 6 and 10 < sum(map(bool, parts)) < 25, "as many as fit into one slice"
    assert not any(first and second for first, second in zip(*rounds, strict=True)), "then it is the others' turn"


def test_what_comes_while_the_queue_waits_for_the_loop_is_not_served_before_it() -> None:
    _, loop, (peer, late) = crowd(2)
    peer.send(asked(1, 100))
    late.send(asked(1, 2))
    assert answered(late) == [] and not late.reading
    loop.turn()
    loop.turn()
    assert answered(late) == [1, 2] and late.reading


def test_one_whose_request_took_longer_than_a_slice_stands_in_the_queue_with_single_requests_too() -> None:
    _, loop, (slow, other) = crowd(2)
    slow.connection.slow = True
    other.send(asked(1, 100))
    slow.send(asked(1, 1))
    assert answered(slow) == []
    loop.turn()
    loop.turn()
    assert answered(slow) == [1] and not slow.connection.slow, "it was quick this time"
    slow.send(asked(2, 1))
    assert answered(slow) == [2]


def test_who_is_closed_or_gone_is_not_served_any_more() -> None:
    rig, loop, (closed, gone) = crowd(2)
    for peer in (closed, gone):
        peer.send(asked(1, 100))
    handled = rig.driver.counters.handled
    rig.driver.shut(closed.connection, "the test wants it")
    gone.hang_up()
    loop.turn()
    assert rig.driver.counters.handled == handled and not loop.ordered


def test_a_driver_that_stops_serves_nobody_and_calls_off_the_next_slice() -> None:
    rig, loop, (peer,) = crowd(1)
    peer.send(asked(1, 100))
    handled = rig.driver.counters.handled
    rig.driver.stop()
    assert loop.cancelled == 1 and rig.driver.counters.handled == handled


def test_connections_that_are_lost_at_once_end_in_slices() -> None:
    rig, loop, wires = crowd(100)
    counters = rig.driver.counters
    for wire in wires:
        wire.hang_up()
    ended = [counters.connections_closed]
    while loop.ordered:
        loop.turn()
        ended.append(counters.connections_closed)
    parts = [after - before for before, after in zip([0, *ended], ended, strict=False)]
    assert ended[-1] == 100 and not rig.driver.connections
    assert len(parts) > 3 and max(parts) < 40, parts


def test_connections_whose_ends_wait_are_ended_when_the_driver_stops() -> None:
    rig, loop, wires = crowd(100)
    for wire in wires:
        wire.hang_up()
    assert rig.driver.connections and loop.ordered
    rig.driver.stop()
    assert not rig.driver.connections
