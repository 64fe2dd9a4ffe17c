"""The rounds of one group, as an observer of the wire has them: read from a journal's rows, in any order of arrival that a journal has.

A round begins with the leader's answer to JoinGroup, which shows every member's claims; the leader's SyncGroup request says what each is
told; the answers to SyncGroup show who heard it. Feed rows as dicts, all at once or while they are written.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .embedded import NOTHING, Claim, Partition, Partitions, Told, claim_of, told_of

JOIN_GROUP: Final = 11
SYNC_GROUP: Final = 14
MS: Final = 1_000_000


@dataclass(slots=True)
class Round:
    """One generation. Times are ms since the journal's begin; members are their ids.

    `planned`: when the leader brought the Assignments (None: it never did), which is when they count. `heard`: whom they reached.
    `universe`: what the members of this round should own.
    """

    began: float
    generation: int
    leader: str
    protocol_type: str
    protocol: str
    claims: dict[str, Claim]
    universe: Partitions
    planned: float | None = None
    told: dict[str, Told] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)

    def holders(self) -> dict[Partition, str]:
        """Partition -> the member that was told to hold it."""
        return {partition: member for member, told in self.told.items() for partition in told.assigned}

    @property
    def settled(self) -> bool:
        """Everything has an owner, nobody is asked to give something up, nobody is told to wait, and all of them heard so."""
        told = self.told.values()
        return (
            self.planned is not None
            and self.heard >= self.claims.keys()
            and not any(each.revoked or each.timeout_ms for each in told)
            and self.universe <= self.holders().keys()
        )


class Rounds:
    """`feed` it a journal's rows. `rounds`: oldest first; `state`, `members` (ids), `counts` (topic -> partitions): now."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.rounds: list[Round] = []
        self.state = ""
        self.since = 0.0
        """When the group came into this state, ms."""
        self.members: set[str] = set()
        self.counts: dict[str, int] = {}
        self._asked: dict[int, Mapping[str, Any]] = {}  # ticket -> JoinGroup or SyncGroup request that has no answer yet

    def feed(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """More rows, in the journal's order."""
        for row in rows:
            take = _TAKE.get(row["kind"])
            if take is not None:
                take(self, row)

    def _request(self, row: Mapping[str, Any]) -> None:
        if row["api_key"] not in (JOIN_GROUP, SYNC_GROUP) or row["message"]["group_id"] != self.group:
            return
        self._asked[row["ticket"]] = row["message"]
        if row["api_key"] == SYNC_GROUP and self.rounds:
            self._planned(self.rounds[-1], row)

    def _planned(self, last: Round, row: Mapping[str, Any]) -> None:
        message = row["message"]
        if message["member_id"] != last.leader or message["generation_id"] != last.generation or last.planned is not None:
            return
        brought = {each["member_id"]: b64decode(each["assignment"]) for each in message["assignments"]}
        for member, claim in last.claims.items():
            last.told[member] = told_of(last.protocol_type, last.protocol, brought.get(member, b""), claim)

    def _reply(self, row: Mapping[str, Any]) -> None:
        asked = self._asked.pop(row["ticket"], None)
        if asked is None or row.get("error") or not row.get("message"):
            return
        message = row["message"]
        if row["api_key"] == JOIN_GROUP and message["members"]:
            self.rounds.append(self._begun(row, asked))
        elif row["api_key"] == SYNC_GROUP and row.get("delivered", True) and self._is_last(asked["generation_id"]):
            self.rounds[-1].heard.add(asked["member_id"])

    def _is_last(self, generation: int) -> bool:
        return bool(self.rounds) and self.rounds[-1].generation == generation

    def _begun(self, row: Mapping[str, Any], asked: Mapping[str, Any]) -> Round:
        message, kind = row["message"], str(asked["protocol_type"])
        protocol = str(message["protocol_name"])
        claims = {each["member_id"]: claim_of(kind, protocol, b64decode(each["metadata"])) for each in message["members"]}
        topics = {topic for claim in claims.values() for topic in claim.topics}
        universe = frozenset((topic, number) for topic in topics for number in range(self.counts.get(topic, 0)))
        return Round(row["t"] / MS, message["generation_id"], str(message["leader"]), kind, protocol, claims, universe)

    def _moved(self, row: Mapping[str, Any]) -> None:
        if row["group"] == self.group:
            self.state, self.since = str(row["after"]), row["t"] / MS
            if self.state == "Stable" and row["before"] != "Stable" and self.rounds:
                self.rounds[-1].planned = self.since  # what the leader brought was taken

    def _member(self, row: Mapping[str, Any]) -> None:
        if row["group"] != self.group:
            return
        if row["what"] in ("added", "replaced"):
            self.members.add(str(row["member_id"]))
        elif row["what"] == "removed":
            self.members.discard(str(row["member_id"]))

    def _command(self, row: Mapping[str, Any]) -> None:
        arguments = row["arguments"]
        if row["name"] in ("create_topic", "grow_topic"):
            self.counts[str(arguments["name"])] = int(arguments["partitions"])


_TAKE: Final = {
    "request": Rounds._request,
    "reply": Rounds._reply,
    "moved": Rounds._moved,
    "member": Rounds._member,
    "command": Rounds._command,
}

__all__ = ["NOTHING", "Claim", "Partition", "Partitions", "Round", "Rounds", "Told"]
