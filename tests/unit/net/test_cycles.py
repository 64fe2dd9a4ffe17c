"""Connections, requests and members leave no reference cycles behind, so the server hardly ever needs a full garbage collection."""

from __future__ import annotations

import gc

from stub_core import frame

from groupmock.rig import WireRig
from groupmock_codec.api_keys import API_VERSIONS, HEARTBEAT, JOIN_GROUP
from groupmock_codec.messages.k11_join_group import JoinGroupRequestProtocol


def _visit(rig: WireRig) -> None:
    wire = rig.connect()
    wire.send(frame(API_VERSIONS, 0))
    protocols = [JoinGroupRequestProtocol(name="p")]
    wire.send(frame(JOIN_GROUP, 5, 2, group_id="g", session_timeout_ms=10_000, protocol_type="x", protocols=protocols))
    wire.send(frame(HEARTBEAT, 3, 3, group_id="g", member_id="nobody") * 2)
    wire.send(b"\0\0\0\x04\x7f\xff\0\0")  # A request that is not served closes the connection.
    wire.connection.connection_lost(None)
    del wire.connection  # The wire of the test and the connection refer to each other.


def test_connections_and_requests_leave_no_cycles() -> None:
    rig = WireRig.make()
    _visit(rig)  # The first visit imports modules and compiles codecs.
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            _visit(rig)
        assert gc.collect() == 0
    finally:
        gc.enable()
