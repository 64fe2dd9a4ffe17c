"""The limits on what one client may use of the network side, named as in Kafka where Kafka has such a limit. They are declared like
`core.settings`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..core.setting_declarations import INT_MAX, setting


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that keep one client from harming the others. Defaults are Kafka's where Kafka has such a bound."""

    socket_request_max_bytes: Annotated[
        int, setting("socket.request.max.bytes", "largest frame; one that announces more is closed as soon as its length is read", 1)
    ] = 104_857_600
    queued_max_request_bytes: Annotated[
        int,
        setting(
            "queued.max.request.bytes",
            "most bytes of cut or waiting requests in all connections (-1: any); who exceeds it is closed",
            -1,
            2**62,
        ),
    ] = 1_073_741_824
    max_connections: Annotated[int, setting("max.connections", "most connections; further ones wait in the listener's backlog", 1)] = (
        INT_MAX
    )
    connections_max_idle_ms: Annotated[
        int, setting("connections.max.idle.ms", "a connection on which nothing arrives for this long is closed (-1: never)", -1)
    ] = 600_000
    connection_read_ahead_bytes: Annotated[
        int, setting("groupmock.connection.read.ahead.bytes", "bytes read from one connection while it waits for an answer", 1)
    ] = 1_048_576
    connection_write_buffer_bytes: Annotated[
        int, setting("groupmock.connection.write.buffer.bytes", "unread answers of one connection above which it is not served further", 1)
    ] = 1_048_576
    requests_slice_us: Annotated[
        int,
        setting(
            "groupmock.requests.slice.us",
            "longest stretch of waiting requests between two turns of the loop, in microseconds; shared by all who have some",
            1,
        ),
    ] = 2000
    request_max_elements: Annotated[
        int,
        setting(
            "groupmock.request.max.elements",
            "most array elements, nested ones too, and tagged fields of one request; who sends more is closed before they are read",
            1,
        ),
    ] = 30_000
    work_slice_us: Annotated[
        int,
        setting(
            "groupmock.work.slice.us",
            "longest stretch of work that was begun, and of timers that are due together, between two turns of the loop, in microseconds",
            1,
        ),
    ] = 2000
    replies_slice_us: Annotated[
        int, setting("groupmock.replies.slice.us", "longest stretch of answers between two turns of the loop, in microseconds", 1)
    ] = 2000
