"""Writes journal rows by hand for an audit: connections with requests and answers, on a clock that the test advances."""

from __future__ import annotations

from typing import Any

from msgspec import convert

from groupmock.journal.rows import AbandonedRow, CloseRow, OpenRow, ReplyRow, RequestRow, Row
from groupmock.rig.versions import newest
from groupmock_codec import APIS
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS


class AuditPen:
    """Without `writes_times` the journal is one of an older version, whose answers have no `written`."""

    def __init__(self, take: Any = None, writes_times: bool = True) -> None:
        self.writes_times = writes_times
        self.rows: list[Row] = []
        self.take = self.rows.append if take is None else take
        self.t = 0
        self.seq = self.ticket = self.connection = 0

    def pause(self, ms: float) -> AuditPen:
        self.t += int(ms * NS_PER_MS)
        return self

    def connect(self, client_id: str = "app", host: str = "/10.0.0.1", seen: bool = True, node: int = 1) -> Line:
        """Open a new client connection. If `seen` is false, the connection is older than the journal."""
        self.connection += 1
        line = Line(self, self.connection, client_id, node)
        if seen:
            self.write(OpenRow(t=self.t, node=node, connection=line.number, client_host=host, client_port=4000))
        return line

    def write(self, row: Row) -> None:
        """Write one row with the next sequence number."""
        self.seq += 1
        row.seq = self.seq
        self.take(row)


class Line:
    """The client connection that a test writes rows for. Its methods write the requests and their answers; `ms` is the time until the
    answer."""

    def __init__(self, pen: AuditPen, number: int, client_id: str, node: int) -> None:
        self.pen, self.number, self.client_id, self.node = pen, number, client_id, node

    def asks(self, key: int, sent_ms_ago: float = 0, **message: Any) -> dict[str, Any]:
        """Write a request and return the handle that `told` needs for its answer."""
        self.pen.ticket += 1
        place: dict[str, Any] = {
            "connection": self.number, "ticket": self.pen.ticket, "correlation_id": self.pen.ticket, "api_key": key,
            "api_name": APIS[key].name, "api_version": newest(key, convert(message, APIS[key].request.message)),
        }  # fmt: skip
        now = self.pen.t
        received = now - int(sent_ms_ago * NS_PER_MS)
        self.pen.write(
            RequestRow(t=now, node=self.node, received=received, handled=now, size=1, client_id=self.client_id, message=message, **place)
        )
        return place

    def told(self, place: dict[str, Any], delivered: bool = True, **message: Any) -> None:
        written = self.pen.t if self.pen.writes_times else None
        self.pen.write(ReplyRow(t=self.pen.t, node=self.node, size=1, delivered=delivered, written=written, message=message, **place))

    def abandoned(self, place: dict[str, Any]) -> None:
        """Write that the broker gave up a request without an answer."""
        self.pen.write(AbandonedRow(t=self.pen.t, reason="a rule", **place))

    def closes(self, by: str = "client") -> None:
        self.pen.write(CloseRow(t=self.pen.t, connection=self.number, by=by, reason="done"))

    # -- The requests of members

    def join(
        self, member: str, group: str = "g", instance: str | None = None, session_ms: int = 10_000, sent_ms_ago: float = 0
    ) -> dict[str, Any]:
        return self.asks(
            JOIN_GROUP, sent_ms_ago, group_id=group, member_id=member, group_instance_id=instance, protocol_type="consumer",
            session_timeout_ms=session_ms, rebalance_timeout_ms=session_ms, protocols=[{"name": "range", "metadata": ""}],
        )  # fmt: skip

    def joined(self, place: dict[str, Any], member: str, generation: int = 1, error: int = 0, delivered: bool = True) -> None:
        """Write the answer to a JoinGroup: success, or MEMBER_ID_REQUIRED (79) with the member id."""
        self.told(
            place, delivered, error_code=error, generation_id=generation, protocol_type="consumer", protocol_name="range", leader=member,
            member_id=member, members=[{"member_id": member, "metadata": "", "group_instance_id": None}] if not error else [],
        )  # fmt: skip

    def enters(self, member: str, generation: int = 1, group: str = "g", instance: str | None = None, session_ms: int = 10_000) -> None:
        """Write a whole join: MEMBER_ID_REQUIRED (79) except for a static member, then JoinGroup and SyncGroup."""
        if instance is None:
            self.joined(self.join("", group, session_ms=session_ms), member, error=79)
        place = self.join(member if instance is None else "", group, instance, session_ms)
        self.joined(place, member, generation)
        self.syncs(member, generation, group)

    def syncs(self, member: str, generation: int = 1, group: str = "g") -> None:
        place = self.asks(SYNC_GROUP, group_id=group, member_id=member, generation_id=generation, assignments=[])
        self.told(place, error_code=0, assignment="")

    def beats(self, member: str, generation: int = 1, error: int = 0, group: str = "g", delivered: bool = True) -> None:
        """Write a heartbeat with its answer."""
        place = self.asks(HEARTBEAT, group_id=group, member_id=member, generation_id=generation)
        self.told(place, delivered, error_code=error)

    def commits(self, member: str, generation: int = 1, error: int = 0, group: str = "g", sent_ms_ago: float = 0) -> None:
        """Write a commit without offsets, with its answer."""
        asked = {"group_id": group, "member_id": member, "generation_id_or_member_epoch": generation, "topics": []}
        place = self.asks(OFFSET_COMMIT, sent_ms_ago, **asked)
        self.told(place, topics=[{"name": "t", "partitions": [{"partition_index": 0, "error_code": error}]}])

    def leaves(self, *members: str, group: str = "g", delivered: bool = True) -> None:
        named = [{"member_id": each, "group_instance_id": None} for each in members]
        place = self.asks(LEAVE_GROUP, group_id=group, members=named)
        self.told(place, delivered, error_code=0, members=[each | {"error_code": 0} for each in named])
