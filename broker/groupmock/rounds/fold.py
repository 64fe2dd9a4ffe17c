"""Journal rows to rebalances: the one fold that stories, scenarios and the judges of the pipeline read.

A rebalance begins and ends with the coordinator's `moved` rows. In between, the leader's answer to JoinGroup shows every member's claims,
its SyncGroup says what each is told, and the answers to SyncGroup show who heard it. Rows come in the journal's order, which is not always
that of their times. They may be read from a file, as dicts or as rows, or be the rows in memory.

Kept is what is open: a group's rebalance under way and its last one, requests without an answer, who owns what. What went by is handed out.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ..journal.read import UnknownRow
from ..journal.rows import (
    AbandonedRow,
    CloseRow,
    CommandRow,
    MemberRow,
    MovedRow,
    ReplyRow,
    RequestRow,
    Row,
)
from .embedded import Claim, Partition, Partitions, claim_of, told_of
from .owners import Changed, Ownership
from .rebalance_model import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, UNDER_WAY, Gap, Generation, Holder, Move, Phase, Rebalance, name_of

JOIN_GROUP: Final = 11
SYNC_GROUP: Final = 14
OF_TOPICS: Final = ("create_topic", "grow_topic")
"""Commands that say how many partitions there are."""
FRAMES: Final = (RequestRow, ReplyRow, AbandonedRow)
FOLDED: Final[frozenset[type]] = frozenset((*FRAMES, MovedRow, MemberRow, CommandRow, CloseRow))
REPLACES: Final = " replaces "
"""In the reason of a `member` row that says `replaced`: who came, and then whom it replaced (KIP-345)."""
NO_CLAIM: Final = Claim(frozenset(), frozenset())
JsonRow = Mapping[str, Any]
"""A row as its JSON has it."""


def rebalances(rows: Iterable[JsonRow | Row | UnknownRow], group: str | None = None) -> Iterator[Rebalance]:
    """The rebalances of a journal, each as it ends, those that never end when the rows do. `group`: of this one alone."""
    fold = Rebalances(group)
    for row in rows:
        over = fold.feed(row)
        if over is not None:
            yield over
    yield from fold.close()


class GroupFold:
    """One group as of the last row.

    `state` and `since` when (ns); `members`: ids; `size`: how many, by its last move. `rebalance`: under way; `last`: the one that ended
    last. `generation`: the newest. `lost`: gaps since the last rebalance, which count to the next one. `ownership`: who owns what.
    """

    def __init__(self, name: str, changed: Changed | None = None) -> None:
        self.name = name
        self.state = ""
        self.since = 0
        self.size: int | None = None
        self.members: set[str] = set()
        self.rebalance: Rebalance | None = None
        self.last: Rebalance | None = None
        self.generation: Generation | None = None
        self.lost: list[Gap] = []
        self.ownership = Ownership(changed)
        self._number = 0
        self._protocol = ""
        self._joined: dict[str, int] = {}  # of the rebalance under way, or of this moment: it may begin one
        self._assigned: dict[str, Partitions] = {}
        self._holders: dict[Partition, Holder] = {}

    # The coordinator's own rows

    def moved(self, row: JsonRow) -> Rebalance | None:
        """The group changed its state. Returns the rebalance that is over with it."""
        at, before, after = row["t"], row["before"], row["after"]
        self.spend(at)
        if not before or after == DEAD:  # it begins anew: generation 1 is another one
            self.generation = None
        if after == DEAD:
            self.members.clear()
        if after in UNDER_WAY:
            self._under_way(row)
        size: int = row.get("members", 0)
        self.state, self.since, self.size = after, at, size
        self._protocol = row.get("protocol_name") or self._protocol
        newest = self.generation
        if after == STABLE and before != STABLE and newest is not None and row["generation"] == newest.number:
            newest.planned = at  # what the leader brought was taken
        if self.rebalance is None:
            return None
        self.rebalance.generation_after, self.rebalance.members_after = row["generation"], size
        return None if after in UNDER_WAY else self._over(self.rebalance, at, after)

    def spend(self, at: int) -> None:
        """The phase it is in lasts until now."""
        if self.rebalance is not None:
            self.rebalance.phases[-1].spent = max(0, at - self.since)

    def _under_way(self, row: JsonRow) -> None:
        now = self.rebalance
        if now is None:
            now = self.rebalance = self._begun(row)
        now.phases.append(Phase(row["after"], row["t"], row["reason"], row.get("cause") or ""))
        if row["after"] == COMPLETING:
            now.last_joined = next(reversed(self._joined), None)
            now.leader, now.protocol_type, now.protocol = row.get("leader"), row.get("protocol_type"), row.get("protocol_name")

    def _begun(self, row: JsonRow) -> Rebalance:
        self._number += 1
        # The JoinGroup that began it stands before this row in the journal, with the same time; older ones belong to nothing.
        self._joined = {member: at for member, at in self._joined.items() if at == row["t"]}
        lost, self.lost = self.lost, []
        generation = row["generation"]
        return Rebalance(
            self.name, self._number, row["t"], row["reason"], row.get("cause") or "",
            # The generation counts up when the join phase ends: a group that is first seen completing has the new one already.
            generation_before=generation if row["after"] == PREPARING else generation - 1,
            members_before=0 if self.size is None and row["before"] in ("", EMPTY) else self.size,
            had=self._assigned, joined=self._joined, gaps=lost,
        )  # fmt: skip

    def _over(self, now: Rebalance, at: int, state: str) -> Rebalance:
        now.ended, now.ended_in = at, state
        if state == EMPTY:
            now.protocol = None
        if now.plan is not None:
            now.moves = list(self._moves(now.plan))
            self._assigned = {member: told.assigned for member, told in now.plan.told.items()}
        # It ended without members, or the group is gone: nobody has anything by the plan before.
        elif state != STABLE:
            self._assigned = {}
        self.rebalance, self.last, self._joined = None, now, {}
        return now

    def _moves(self, plan: Generation) -> Iterator[Move]:
        names = Counter(map(name_of, plan.told))
        new: dict[Partition, Holder] = {}
        for member, told in plan.told.items():
            name = name_of(member)
            new.update(dict.fromkeys(told.assigned, Holder(member, name if names[name] == 1 else member)))
        for partition, holder in new.items():
            had = self._holders.get(partition, holder)
            if had.member != holder.member:
                yield Move(partition, had, holder)
        self._holders |= new

    def member(self, row: JsonRow) -> None:
        """Somebody came or went."""
        member, what = row["member_id"], row["what"]
        if what in ("added", "replaced"):
            self.members.add(member)
            self._arrived(member, row["t"])
        if what == "replaced":
            member = row["reason"].rpartition(REPLACES)[2]
        if what in ("removed", "replaced"):
            self.members.discard(member)
            self.gone(member, row["t"])

    # What members say

    def joins(self, message: JsonRow, member: str, at: int) -> None:
        """A JoinGroup of a member that has an id. Of what it had it keeps what it claims by the protocol that the group had so far."""
        self._arrived(member, at)
        owned = self.ownership.of(member)
        listed = {each["name"]: each["metadata"] for each in message.get("protocols", ())} if owned else {}
        if listed:
            name = self._protocol if self._protocol in listed else next(iter(listed))
            claim = claim_of(str(message["protocol_type"]), name, b64decode(listed[name]))
            self._loses(member, owned & claim.owned, at, self.rebalance)

    def _arrived(self, member: str, at: int) -> None:
        if self.rebalance is None and self._joined and next(reversed(self._joined.values())) != at:
            self._joined = {}
        # Out first: a dict keeps the place of a key that it has, and who joins again must stand last.
        self._joined.pop(member, None)
        self._joined[member] = at

    def turned_away(self, member: str) -> None:
        """Its JoinGroup was refused."""
        self._joined.pop(member, None)

    def begun(self, row: JsonRow, asked: JsonRow, counts: Mapping[str, int]) -> None:
        """The leader's answer to JoinGroup. One that repeats a generation's (a leader that joins again unchanged) tells nothing new."""
        message, kind = row["message"], str(asked["protocol_type"])
        # SERVER-20: the answer has the list and the generation that there was.
        if self.generation is not None and self.generation.number == message["generation_id"]:
            return
        protocol = str(message["protocol_name"])
        claims = {each["member_id"]: claim_of(kind, protocol, b64decode(each["metadata"])) for each in message["members"]}
        topics = {topic for claim in claims.values() for topic in claim.topics}
        universe = frozenset((topic, number) for topic in topics for number in range(counts.get(topic, 0)))
        self.generation = Generation(message["generation_id"], row["t"], str(message["leader"]), kind, protocol, claims, universe)
        if self.rebalance is not None:
            self.rebalance.generations.append(self.generation)

    def syncs(self, message: JsonRow) -> None:
        """A SyncGroup. What its leader brings a generation whose plan was not taken yet is what its members are told."""
        now = self.generation
        # In Stable a SyncGroup is answered with what is stored, whatever it brings (SERVER-38).
        if now is None or now.planned is not None or (message["member_id"], message["generation_id"]) != (now.leader, now.number):
            return
        if "assignments" not in message:  # a row in memory that was made small: nobody knows what it brought
            return
        brought = {each["member_id"]: b64decode(each["assignment"]) for each in message["assignments"]}
        for member, claim in now.claims.items():
            # Whom the leader leaves out is answered an empty assignment (docs/kafka/group-protocol.md#s-leader-missing).
            now.told[member] = told_of(now.protocol_type, now.protocol, brought.get(member, b""), claim)

    def hears(self, asked: JsonRow, row: JsonRow) -> None:
        """An answer to SyncGroup that arrived: all that the member has from now on."""
        now, member = self.generation, asked["member_id"]
        if now is None or now.number != asked["generation_id"] or "assignment" not in row["message"]:
            return
        now.heard[member] = row["t"]
        told = told_of(now.protocol_type, now.protocol, b64decode(row["message"]["assignment"]), now.claims.get(member, NO_CLAIM))
        self._loses(member, told.assigned, row["t"], self.last)

    def gone(self, member: str, at: int) -> None:
        """It was removed or replaced, or its connection ended."""
        self._loses(member, frozenset(), at, self.rebalance)

    def _loses(self, member: str, keeps: Partitions, at: int, counted: Rebalance | None) -> None:
        """`counted`: the rebalance in which it is lost what it does not keep; None: the next one, if any comes."""
        gaps = self.ownership.owns(member, keeps, at)
        (self.lost if counted is None else counted.gaps).extend(gaps)


class Rebalances:
    """`feed` it rows. `groups`: name -> GroupFold; `counts`: topic -> partitions, `created`: partition -> when (ns), of topics made.

    `group`: the only one that is looked at; it is there from the start. `watched`: called with the name of each group, returns who is to be
    told of its changes of ownership.
    """

    def __init__(self, group: str | None = None, watched: Callable[[str], Changed] | None = None) -> None:
        self._watched = watched
        self.groups: dict[str, GroupFold] = {} if group is None else {group: self._fold(group)}
        self.counts: dict[str, int] = {}
        self.created: dict[Partition, int] = {}
        self._all = group is None
        self._now = 0
        self._asked: dict[int, JsonRow] = {}  # ticket -> JoinGroup or SyncGroup that has no answer yet
        self._connection: dict[tuple[str, str], int] = {}  # group and member -> by which it joined last
        self._joined_by: dict[int, dict[tuple[str, str], None]] = {}  # connection -> whoever joined by it, in order

    def feed(self, row: JsonRow | Row | UnknownRow) -> Rebalance | None:
        """One more row, in the journal's order. Returns the rebalance that is over with it."""
        found = _json_row(row) if isinstance(row, Row | UnknownRow) else row
        if found is None:
            return None
        self._now = max(self._now, found["t"])
        take = _TAKE.get(found["kind"])
        return None if take is None else take(self, found)

    def forget(self, name: str) -> None:
        """A group is gone, and whoever asks has no use for what it was: its number of rebalances begins anew if it comes back."""
        self.groups.pop(name, None)
        self._asked = {ticket: message for ticket, message in self._asked.items() if message["group_id"] != name}
        self._connection = {who: number for who, number in self._connection.items() if who[0] != name}

    def close(self) -> list[Rebalance]:
        """There are no more rows: the rebalances that are under way, their last phase as long as the journal shows it."""
        left = [each for each in self.groups.values() if each.rebalance is not None]
        for group in left:
            group.spend(self._now)
        return [each.rebalance for each in left if each.rebalance is not None]

    def _group(self, name: str) -> GroupFold | None:
        if self._all and name not in self.groups:
            self.groups[name] = self._fold(name)
        return self.groups.get(name)

    def _fold(self, name: str) -> GroupFold:
        return GroupFold(name, self._watched(name) if self._watched is not None else None)

    def _moved(self, row: JsonRow) -> Rebalance | None:
        group = self._group(row["group"])
        return None if group is None else group.moved(row)

    def _member(self, row: JsonRow) -> None:
        group = self._group(row["group"])
        if group is not None:
            group.member(row)
            if row["what"] == "removed":
                self._connection.pop((group.name, row["member_id"]), None)

    def _request(self, row: JsonRow) -> None:
        message = row.get("message")
        if row["api_key"] not in (JOIN_GROUP, SYNC_GROUP) or not message:
            return
        group = self._group(message["group_id"])
        if group is None:
            return
        self._asked[row["ticket"]] = message
        if row["api_key"] == SYNC_GROUP:
            group.syncs(message)
        # Without an id nobody has joined yet: the answer reserves one (79, KIP-394) or brings it with success.
        elif message["member_id"]:
            self._joins_by(group.name, message["member_id"], row["connection"])
            group.joins(message, message["member_id"], row["t"])

    def _joins_by(self, group: str, member: str, connection: int) -> None:
        self._connection[group, member] = connection
        self._joined_by.setdefault(connection, {})[group, member] = None

    def _reply(self, row: JsonRow) -> None:
        asked = self._asked.pop(row["ticket"], None)
        if asked is None or not row.get("message"):
            return
        group, accepted = self.groups[asked["group_id"]], not row.get("error")
        if row["api_key"] == SYNC_GROUP:
            # An answer that was lost tells its member nothing: it goes on with what it had.
            if accepted and row.get("delivered", True):
                group.hears(asked, row)
            return
        if not accepted:
            group.turned_away(asked["member_id"])
        # Static members and JoinGroup v0-3 get their id with success, never by 79 (SERVER-02, SERVER-03).
        elif not asked["member_id"]:
            self._joins_by(group.name, row["message"]["member_id"], row["connection"])
        if accepted and row["message"].get("members"):
            group.begun(row, asked, self.counts)

    def _abandoned(self, row: JsonRow) -> None:
        self._asked.pop(row["ticket"], None)

    def _close(self, row: JsonRow) -> None:
        for name, member in self._joined_by.pop(row["connection"], {}):
            # Who joined again by another connection lives on when the old one ends.
            if self._connection.get((name, member)) == row["connection"]:
                del self._connection[name, member]
                self.groups[name].gone(member, row["t"])

    def _command(self, row: JsonRow) -> None:
        if row["name"] in OF_TOPICS:
            topic, count = str(row["arguments"]["name"]), int(row["arguments"]["partitions"])
            self.counts[topic] = count
            for number in range(count):
                self.created.setdefault((topic, number), row["t"])


def _json_row(row: Row | UnknownRow) -> JsonRow | None:
    """As JSON has it, messages of the codec included; None: a row that says nothing about rebalances."""
    if row.__class__ not in FOLDED or (isinstance(row, FRAMES) and row.api_key not in (JOIN_GROUP, SYNC_GROUP)):
        return None
    if isinstance(row, CommandRow) and row.name not in OF_TOPICS:  # its arguments may be megabytes of records
        return None
    found: JsonRow = msgspec.to_builtins(row)
    return found


_TAKE: Final[dict[str, Callable[[Rebalances, JsonRow], Rebalance | None]]] = {
    "request": Rebalances._request,
    "reply": Rebalances._reply,
    "abandoned": Rebalances._abandoned,
    "moved": Rebalances._moved,
    "member": Rebalances._member,
    "command": Rebalances._command,
    "close": Rebalances._close,
}
