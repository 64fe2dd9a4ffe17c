"""Keep a request until its answer is found in the rows, with the state of its group when the request was handled.

The answer may be written much later than the request was handled, because a Fetch waits for records and a fault rule can delay answers. A
line about the request describes the group as it was when the request was handled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from groupmock_codec.error_codes import error_name

from ..journal.rows import FaultRow, FramePlace, ReplyRow, RequestRow
from ..rounds import Partition
from .committed import Committed
from .exchanged import ASKED, TopicNames, said
from .people import People

PARKED: Final = ("JoinGroup", "SyncGroup", "Fetch")
"""Requests that wait for a change of the group or of a log, so that their answers show that later moment."""
ERROR: Final = "error"
"""The fault kind that puts an error into an answer."""
KEEPS: Final = frozenset(("delay", "hold", "drop", "swallow"))
"""The kinds of faults that make a request or its answer arrive late or never."""
FEW_RIGHTS: Final = 3
COMMITS: Final = ("OffsetCommit", "TxnOffsetCommit")


class GroupNow(Protocol):
    """The state of a group after the last row that was read. `here` has the names of its members; `owners` maps partitions to member
    ids, by the plan of its generation."""

    people: People
    committed: Committed
    names: TopicNames
    owners: dict[Partition, str]

    @property
    def generation(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def since(self) -> int: ...
    @property
    def here(self) -> str: ...


class Asked:
    """An unanswered request, with the time (`at`, ns) and row (`order`) at which it was handled. `generation`, `state` and `since` are
    those of the group then, and `committed` and `owners` those of the partitions that it commits. `denied` describes rights that the sender
    lacks. `rule` is the fault rule that put the error `made` into the answer or a part of it, and `applied` says that the request was
    handled before. `kept_by` is the rule that delays the request or its answer."""

    __slots__ = (
        "api", "applied", "at", "client_id", "committed", "connection", "denied", "generation", "kept_by", "made", "message", "order",
        "owners", "rule", "since", "state", "version",
    )  # fmt: skip

    def __init__(self, row: RequestRow | ReplyRow, message: Any) -> None:
        self.api, self.version, self.connection, self.message = row.api_name, row.api_version, row.connection, message
        self.client_id = row.client_id if isinstance(row, RequestRow) else None
        self.at, self.order = row.t, row.seq
        self.generation, self.state, self.since = 0, "", 0
        self.committed: Mapping[Partition, int] = {}
        self.owners: Mapping[Partition, str] = {}
        self.rule: str | None = None
        self.made: str | None = None
        self.applied = False
        self.denied: list[str] = []
        self.kept_by: str | None = None

    def told_at(self, row: FramePlace) -> int:
        """Return the time whose state the answer shows."""
        return row.t if self.api in PARKED else self.at

    def lacks(self, right: str) -> None:
        """Note a right that the sender lacks. A few are enough for the line of a refused request."""
        if len(self.denied) < FEW_RIGHTS:
            self.denied.append(right)

    def struck(self, row: FaultRow) -> None:
        """Note that a fault rule was applied to the request, or that the fault's effect is over."""
        if row.action == ERROR:
            code = row.fields.get("code")
            self.rule, self.made = row.rule, error_name(code) if isinstance(code, int) else code
        self.kept_by = row.rule if row.action in KEEPS else None
        self.applied = row.stage == "reply"

    def handled(self, group: GroupNow, at: int, order: int) -> None:
        """Note that the request is handled now, perhaps after a fault rule has delayed it."""
        self.at, self.order = at, order
        self.generation, self.state, self.since = group.generation, group.state, group.since
        if self.api in COMMITS:
            wanted = [each.partition for each in said(self.message, ASKED[self.api], group.names)]
            self.committed = {each: group.committed.offsets[each] for each in wanted if each in group.committed.offsets}
            self.owners = {each: group.owners[each] for each in wanted if each in group.owners}
