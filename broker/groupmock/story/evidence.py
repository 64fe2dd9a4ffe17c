"""Keep the events of one group from which the likely causes of a failed test are inferred (`story.causes`).

A story's lines are made for people. This module keeps the same events as values: which member read which partition from where, who
committed it last, which requests were refused, and how members went. Times are ns of the run. Memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ..journal.rows import CloseRow, MemberRow, ReplyRow
from ..journal.whose import field
from ..rounds import Partition
from ..rounds.embedded import Partitions
from ..rounds.tasks import is_task
from .asked import COMMITS, Asked
from .exchanged import ASKED, TopicNames, items, number, said
from .people import Person
from .reading import Waiting
from .refusals import NOT_AUTHORIZED, epoch_of

KEPT: Final = 1_000
"""At most this many refusals, former members and requests of one kind are kept."""
PARTITIONS: Final = 10_000
"""At most this many partitions are followed."""
NOTHING: Partitions = frozenset()


class Reading:
    """A member's reading of a partition, which began at `offset` at `at`. `position` is the offset of its last Fetch and `highest`
    that of all. `back` is when a Fetch last went back, as after `seek`, `sent` when the broker first sent it records, and `until` when
    the member lost the partition."""

    __slots__ = ("at", "back", "client_id", "highest", "member", "name", "offset", "position", "sent", "until")

    def __init__(self, at: int, member: str, name: str, client_id: str | None, offset: int) -> None:
        self.at, self.member, self.name, self.client_id = at, member, name, client_id
        self.offset = self.position = self.highest = offset
        self.back: int | None = None
        self.sent: int | None = None
        self.until: int | None = None

    def fetches(self, at: int, offset: int) -> None:
        """Note another Fetch of the partition."""
        self.back = at if offset < self.position else self.back
        self.position, self.highest = offset, max(self.highest, offset)


class Refusal(NamedTuple):
    """A refused request of a client, the first of its kind. `offsets` are those of a commit, and `generation` is the one that it names.
    `owners` maps the partitions of a commit to the members to which the plan gave them. `made` is true if a fault rule made the error."""

    at: int
    who: str
    member: str
    client_id: str | None
    connection: int
    api: str
    error: str
    why: str
    made: bool
    instance: str | None
    generation: int | None
    offsets: Mapping[Partition, int]
    owners: Mapping[Partition, str]


class Unread(NamedTuple):
    """A partition that a member had from `since` to `until` and never fetched. `fetches` counts the client's Fetch requests meanwhile."""

    partition: Partition
    since: int
    until: int
    fetches: int


class Commit(NamedTuple):
    """An accepted commit of one partition."""

    at: int
    who: str
    member: str
    offset: int


class Foreign(NamedTuple):
    """An accepted commit of partitions that the plan of `generation` had given to another member, the `owner` of the first of them."""

    at: int
    who: str
    offsets: Mapping[Partition, int]
    generation: int
    owner: str


class SetBack(NamedTuple):
    """A commit of a lower offset than the one before."""

    partition: Partition
    high: Commit
    low: Commit


class Gone:
    """Tells of a member that is gone: when (`at`), why (`cause` is the coordinator's word, `how` the story's), and what was
    known of it then. `owned` are the partitions that it had, and `closed` is when its connection ended, or None while it is open."""

    __slots__ = ("at", "cause", "closed", "how", "ordered", "owned", "person", "reason")

    def __init__(self, row: MemberRow, person: Person, how: str, ordered: bool, owned: Partitions) -> None:
        self.at, self.cause, self.reason, self.how, self.ordered = row.t, row.cause or "", row.reason, how, ordered
        self.person, self.owned, self.closed = person, owned, person.closed


class Replaced(NamedTuple):
    """A static member whose place a client has taken by joining with the same group.instance.id."""

    at: int
    instance: str
    old: Person
    by: str | None


class Evidence:
    """The events of one group that causes are inferred from.

    `readings` maps partitions to who read them, in order, and `commits` to the last accepted commit. `tried` is true once anybody has tried
    to commit. `fetches` counts each client's Fetch requests, and `assigned` maps a member and a partition to when the member got it and to
    that count then. `unknown` maps topics to when and for whom they were unknown, and `hung_up` members to when their client ended their
    last connection. `lacking` has the last refusals for want of a right, by client and API. `waited` has the readers that waited for the
    end of a transaction when they were removed.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.readings: dict[Partition, list[Reading]] = {}
        self.commits: dict[Partition, Commit] = {}
        self.tried = False
        self.set_back: dict[Partition, SetBack] = {}
        self.refusals: dict[tuple[str, str, str], Refusal] = {}
        self.lacking: dict[tuple[str, str], Refusal] = {}
        self.foreign: list[Foreign] = []
        self.gone: dict[str, Gone] = {}
        self.hung_up: dict[str, int] = {}
        self.replaced: dict[str, Replaced] = {}
        self.fetches: dict[str | None, int] = {}
        self.assigned: dict[tuple[str, Partition], tuple[int, int]] = {}
        self.unknown: dict[str, tuple[int, str]] = {}
        self.waited: list[tuple[Waiting, int]] = []
        self._away: set[str] = set()
        self._unread: dict[str, list[Unread]] = {}
        self._last_owned: dict[str, Partitions] = {}
        self._gone_by: dict[int | None, list[Gone]] = {}  # Maps open connections to the former members that used them last.

    # -- ownership and reading

    def owns(self, member: str, client_id: str | None, before: Partitions, after: Partitions, at: int) -> None:
        """Note that the partitions of a member changed."""
        for partition in before - after:
            self._gives_up(member, client_id, partition, at)
            for each in self.readings.get(partition, ()):
                if each.member == member and each.until is None:
                    each.until = at
        # A member fetches the partitions that its tasks read, and no tasks.
        for partition in after - before if len(self.assigned) < PARTITIONS and not any(map(is_task, after)) else ():
            self.assigned[member, partition] = at, self.fetches.get(client_id, 0)
        if after:
            self._last_owned.pop(member, None)
        elif len(self._last_owned) < KEPT:
            self._last_owned[member] = before

    def _gives_up(self, member: str, client_id: str | None, partition: Partition, at: int) -> None:
        if is_task(partition):
            return
        since, fetches = self.assigned.pop((member, partition), (at, 0))
        if len(self._unread) < KEPT and not self._has_read(member, partition):
            last = Unread(partition, since, at, self.fetches.get(client_id, 0) - fetches)
            self._unread.setdefault(member, []).append(last)

    def _has_read(self, member: str, partition: Partition) -> bool:
        return any(each.member == member for each in self.readings.get(partition, ()))

    def unread_of(self, person: Person, removed: int | None, now: int) -> Iterator[Unread]:
        """Yield the partitions that a member never fetched until `now`, or until it was removed."""
        if removed is not None:
            yield from (each for each in self._unread.get(person.member_id, ()) if each.until == removed)
            return
        for (member, partition), (since, fetches) in self.assigned.items():
            if member == person.member_id and not self._has_read(member, partition):
                yield Unread(partition, since, now, self.fetches.get(person.client_id, 0) - fetches)

    def fetched(self, client_id: str | None) -> None:
        if client_id in self.fetches or len(self.fetches) < KEPT:
            self.fetches[client_id] = self.fetches.get(client_id, 0) + 1

    def reads(self, at: int, member: Person, mine: Partitions, wanted: Mapping[Partition, int]) -> None:
        """Note the offsets from which a member asks for records of its partitions."""
        for partition, offset in wanted.items():
            if partition not in mine or (partition not in self.readings and len(self.readings) >= PARTITIONS):
                continue
            kept = self.readings.setdefault(partition, [])
            last = kept[-1] if kept else None
            if last is not None and last.member == member.member_id and last.until is None:
                last.fetches(at, offset)
            else:
                kept.append(Reading(at, member.member_id, member.name, member.client_id, offset))
                del kept[:-3]  # The causes compare a partition's reader with the one before.

    def sent(self, row: ReplyRow, client_id: str | None) -> None:
        """Note which partitions of an answer to Fetch have records."""
        left_out = {each.path.rpartition(".")[0] for each in row.payloads or ()}  # Journals leave out records above 1 KiB.
        for place, topic in enumerate(items(row.message, "responses")):
            name = self._names.of(topic, "topic")
            for index, each in enumerate(items(topic, "partitions")) if name is not None else ():
                if field(each, "records") or f"responses[{place}].partitions[{index}]" in left_out:
                    kept = self.readings.get((str(name), number(each, "partition_index")), ())
                    for reading in kept:
                        if reading.client_id == client_id and reading.until is None and reading.sent is None:
                            reading.sent = row.t

    # -- commits and refusals

    def committed(self, at: int, who: str, member: str, offsets: Mapping[Partition, int]) -> None:
        for partition, offset in offsets.items():
            high, low = self.commits.get(partition), Commit(at, who, member, offset)
            reached = self.set_back.get(partition)
            if reached is not None and offset >= reached.high.offset:
                del self.set_back[partition]
            if high is not None and offset < high.offset and not self._sought(partition, high, low):
                self.set_back.setdefault(partition, SetBack(partition, high, low))
            if high is not None or len(self.commits) < PARTITIONS:
                self.commits[partition] = low

    def commits_foreign(self, at: int, who: str, offsets: Mapping[Partition, int], generation: int, owner: str) -> None:
        """Note an accepted commit of partitions that belong to another member."""
        if len(self.foreign) < KEPT:
            self.foreign.append(Foreign(at, who, offsets, generation, owner))

    def _sought(self, partition: Partition, high: Commit, low: Commit) -> bool:
        """Return whether the member went back on purpose before it committed less, as after `seek`."""
        last = self.readings.get(partition, ())[-1:]
        mine = [each for each in last if each.member == low.member]
        return any((each.at > high.at and each.offset <= low.offset) or (each.back is not None and each.back >= high.at) for each in mine)

    def refused(self, asked: Asked, at: int, who: str, ids: Iterable[str], error: str, why: str) -> None:
        key, lacking = (who, asked.api, error), error.endswith(NOT_AUTHORIZED) and error != asked.made
        known = key in self.refusals or len(self.refusals) >= KEPT
        if known and (not lacking or len(self.lacking) >= KEPT):
            return
        shape = ASKED.get(asked.api) if asked.api in COMMITS else None
        offsets = {each.partition: each.value for each in said(asked.message, shape, self._names)} if shape is not None else {}
        instance = field(asked.message, "group_instance_id") or field(asked.message, "instance_id")
        refusal = Refusal(
            at, who, next(iter(ids), ""), asked.client_id, asked.connection, asked.api, error, why,
            asked.rule is not None and error == asked.made, instance, epoch_of(asked.message), offsets, asked.owners,
        )  # fmt: skip
        if not known:
            self.refusals[key] = refusal
        if lacking:
            self.lacking[who, asked.api] = refusal

    def allowed(self, who: str, api: str) -> None:
        """Note that a client may do again what it lacked a right for."""
        self.lacking.pop((who, api), None)

    def unknown_topic(self, topic: str, at: int, who: str) -> None:
        """Note that a client asked for a topic that does not exist."""
        if len(self.unknown) < KEPT:
            self.unknown.setdefault(topic, (at, who))

    # -- members

    def goes(self, row: MemberRow, person: Person, how: str, ordered: bool) -> None:
        """Note that a member was removed."""
        if len(self.gone) < KEPT:
            gone = self.gone[row.member_id] = Gone(row, person, how, ordered, self._last_owned.get(row.member_id, NOTHING))
            if gone.closed is None:
                self._gone_by.setdefault(person.connection, []).append(gone)

    def waits(self, waiting: Iterable[Waiting], at: int) -> None:
        """Note that members are removed that wait for the end of a transaction."""
        self.waited += [(each, at) for each in waiting if len(self.waited) < KEPT]

    def takes_place(self, row: MemberRow, old: Person, by: str | None) -> None:
        """Note that a client took the place of a static member."""
        if len(self.replaced) < KEPT:
            self.replaced[old.member_id] = Replaced(row.t, row.group_instance_id or "", old, by)

    def closed(self, row: CloseRow, here: Iterable[str]) -> None:
        """Note the end of a connection that former members, or the present members `here`, used last."""
        for each in self._gone_by.pop(row.connection, ()):
            each.closed = row.t
        if row.by == "client" and len(self.hung_up) < KEPT:
            self.hung_up.update((each, row.t) for each in here if each not in self._away)

    def leaves_for_now(self, member: str) -> None:
        """Note that a static member left temporarily (KIP-848), so that the end of its connection is in order."""
        if len(self._away) < KEPT:
            self._away.add(member)

    def owned_last(self, member: str) -> Partitions:
        """Return the partitions that a member had before it lost them all."""
        return self._last_owned.get(member, NOTHING)
