"""Keep what a story knows of a group's members: their names and settings, and why former members left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..journal.rows import MemberRow, RequestRow
from ..journal.whose import bytes_of, field
from ..rounds.embedded import claim_of
from .exchanged import items
from .words import listed, member_text, text

GONE: Final = 1000
"""At most this many former members are remembered."""
NOBODY: Final = "a client that is no member"
READS: Final = "reads"
"""The verb for a member of a streams group, whose topology reads topics to which nobody subscribes."""
NO_TOPICS: Final[frozenset[str]] = frozenset()
"""The empty set that all members without known topics share, because each `frozenset()` call could make an object."""


class Person:
    """A member of a group as the story knows it. `topics` and `regex` (KIP-848) are its subscription, or `topics` those that its topology
    reads (KIP-1071), as `verb` says. `offers` are its assignors.
    `connection` is the last one that it used, which ended at `closed`. It became a member at `came`, and its last request came at `heard`
    (all in ns). `synced` is the generation of its last SyncGroup."""

    __slots__ = (
        "came", "client_id", "closed", "connection", "heard", "instance", "member_id", "name", "offers", "rebalance_ms", "regex",
        "session_ms", "synced", "topics", "verb",
    )  # fmt: skip

    def __init__(self, member_id: str, client_id: str | None, instance: str | None) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.instance = instance
        self.name = member_text(member_id, instance or client_id)
        self.topics = NO_TOPICS
        self.verb = "subscribes to"
        self.regex: str | None = None
        self.offers: Sequence[str] = ()
        self.session_ms: int | None = None
        self.rebalance_ms: int | None = None
        self.connection: int | None = None
        self.closed: int | None = None
        self.came = 0
        self.heard: int | None = None
        self.synced: int | None = None

    def wants(self, join: Any, connection: int) -> None:
        """Note the settings in the member's JoinGroup, or, in a consumer group, in its heartbeat."""
        self.connection = connection
        if field(join, "member_epoch") is not None:
            self._wants_by_heartbeat(join)
            return
        self.offers = [str(field(each, "name")) for each in items(join, "protocols")]
        self.closed = None
        self.session_ms = field(join, "session_timeout_ms")
        rebalance_ms = field(join, "rebalance_timeout_ms")
        # JoinGroup version 0 has no rebalance timeout, so the session timeout is used (KIP-62).
        self.rebalance_ms = rebalance_ms if isinstance(rebalance_ms, int) and rebalance_ms >= 0 else self.session_ms
        kind, first = field(join, "protocol_type"), next(iter(items(join, "protocols")), None)
        if first is not None:
            self.topics = claim_of(str(kind), self.offers[0], bytes_of(field(first, "metadata"))).topics

    def _wants_by_heartbeat(self, beat: Any) -> None:
        """Note the settings in a heartbeat of a consumer group. A field that is null has not changed (KIP-848)."""
        self.closed = None
        topics, regex, timeout = (
            field(beat, name) for name in ("subscribed_topic_names", "subscribed_topic_regex", "rebalance_timeout_ms")
        )
        self.topics = frozenset(topics) if topics is not None else self.topics
        self.regex = (regex or None) if regex is not None else self.regex
        self.rebalance_ms = timeout if isinstance(timeout, int) and timeout >= 0 else self.rebalance_ms
        if (topology := field(beat, "topology")) is not None:
            self.verb = READS
            self.topics = frozenset(str(name) for each in items(topology, "subtopologies") for name in items(each, "source_topics"))

    @property
    def owned_kind(self) -> str:
        return "tasks" if self.verb == READS else "partitions"

    @property
    def subscription(self) -> str:
        """Return a description of the member's subscription, or "" if it is unknown or empty."""
        parts = [listed(sorted(map(text, self.topics)))] if self.topics else []
        parts += [f"topics that match {text(self.regex)}"] if self.regex else []
        return " and ".join(parts)

    @property
    def wishes(self) -> str:
        """Return a description of the settings with which the member joins."""
        static = f" (static id, client {text(self.client_id or 'without a name')})" if self.instance is not None else ""
        return f"{static}, {self.verb} {self.subscription}" if self.subscription else static


class People:
    """The members of a group by member id. `gone` maps the ids of former members to when and how they left. Members are indexed by client
    id on first use, because a log of many groups never needs that."""

    __slots__ = ("_by_client", "_by_connection", "_wished", "gone", "here")

    def __init__(self) -> None:
        self.here: dict[str, Person] = {}
        self.gone: dict[str, tuple[int, str, str]] = {}
        self._wished: dict[str, tuple[Any, int]] = {}  # Maps ids that do not belong to a member yet to their JoinGroup and its connection.
        self._by_client: dict[str | None, set[str]] | None = None
        self._by_connection: dict[int, set[str]] = {}

    def name(self, member_id: str, client_id: str | None = None) -> str:
        """Return the name for a member id, which need not belong to a member."""
        if member_id in self.here:
            return self.here[member_id].name
        if member_id in self.gone:
            return self.gone[member_id][2]
        if member_id:
            return member_text(member_id)
        return f"{text(client_id)} (no member)" if client_id else NOBODY

    def joins(self, member_id: str, join: Any, connection: int) -> None:
        """Note a JoinGroup (in a consumer group: a heartbeat) that names the member."""
        person = self.here.get(member_id)
        if person is not None:
            self._wants(person, join, connection)
        elif member_id and len(self._wished) < GONE:
            self._wished[member_id] = (join, connection)

    def asks(self, member_id: str, row: RequestRow) -> None:
        """Note a request to the group with that member id."""
        person = self.here.get(member_id)
        if person is None:
            return
        person.heard = row.t
        if row.connection != person.connection:
            self._leaves(person)
            person.connection, person.closed = row.connection, None
            self._by_connection.setdefault(row.connection, set()).add(member_id)
        if row.api_name == "SyncGroup":
            person.synced = field(row.message, "generation_id")

    def beats(self, member_id: str, beat: Any, connection: int) -> str | None:
        """Note a heartbeat in a consumer group. Return a description of how it changes the member's subscription, or None."""
        person = self.here.get(member_id)
        before = person.subscription if person is not None else ""
        if person is not None or field(beat, "member_epoch") == 0:
            self.joins(member_id, beat, connection)
        # A share consumer that leaves names no topics (SG-313), which says nothing about its subscription.
        leaves = (field(beat, "member_epoch") or 0) < 0
        if person is None or leaves or person.subscription == before:
            return None
        return f"{person.name} {person.verb} {person.subscription or 'nothing'}" + (f", before: {before}" if before else "")

    def comes(self, row: MemberRow, first: tuple[Any, int] | None, client_id: str | None) -> Person:
        """Add the member of an `added` or `replaced` row. `first` is the open JoinGroup of a member that had no id; `client_id` is its
        client."""
        person = self.here[row.member_id] = Person(row.member_id, client_id, row.group_instance_id)
        person.came = row.t
        wish = self._wished.pop(row.member_id, None) or first
        self._comes_to_client(person)
        if wish is not None:
            self._wants(person, *wish)
        self.gone.pop(row.member_id, None)
        return person

    def goes(self, member_id: str, at: int, how: str) -> None:
        """Note that the member has left the group or was removed."""
        name = self.name(member_id)
        person = self.here.pop(member_id, None)
        if person is not None:
            if self._by_client is not None:
                same = self._by_client[person.client_id]
                same.discard(member_id)
                if not same:
                    del self._by_client[person.client_id]
            self._leaves(person)
        self.gone[member_id] = (at, how, name)
        if len(self.gone) > GONE:
            del self.gone[next(iter(self.gone))]

    def returns(self, member_id: str) -> None:
        """Add a former member again, because the record in the log from which the group was loaded has it."""
        _, _, name = self.gone.pop(member_id, (0, "", ""))
        person = self.here[member_id] = Person(member_id, None, None)
        person.name = name or person.name
        self._comes_to_client(person)

    def of_client(self, client_id: str | None) -> Person | None:
        """Return the member with that client id, or None if no member or several have it."""
        found = self._of_clients().get(client_id, ())
        return self.here[next(iter(found))] if len(found) == 1 else None

    def ids_of(self, client_id: str | None) -> list[str]:
        """Return the ids of the members with that client id."""
        return sorted(self._of_clients().get(client_id, ()))

    def of_connection(self, connection: int) -> list[Person]:
        """Return the members whose last request came on that connection."""
        return [self.here[member_id] for member_id in sorted(self._by_connection.get(connection, ()))]

    def matching(self, wanted: str) -> frozenset[str]:
        """Return the ids of present and former members that a user's text means: an id, client id, instance id, name, or the part of a
        name before the #."""
        here = (each.member_id for each in self.here.values() if wanted in (each.member_id, each.client_id, each.instance, each.name))
        gone = (each for each, (_, _, name) in self.gone.items() if wanted in (each, name, name.partition("#")[0]))
        return frozenset((*here, *gone))

    def offered(self, but: str) -> Iterable[str]:
        """Return the assignors that all members except `but` support."""
        sets = [set(person.offers) for person in self.here.values() if person.member_id != but and person.offers]
        return sorted(set.intersection(*sets)) if sets else ()

    def _of_clients(self) -> Mapping[str | None, set[str]]:
        if self._by_client is None:
            self._by_client = {}
            for person in self.here.values():
                self._comes_to_client(person)
        return self._by_client

    def _comes_to_client(self, person: Person) -> None:
        if self._by_client is not None:
            self._by_client.setdefault(person.client_id, set()).add(person.member_id)

    def _wants(self, person: Person, join: Any, connection: int) -> None:
        self._leaves(person)
        person.wants(join, connection)
        self._by_connection.setdefault(connection, set()).add(person.member_id)

    def _leaves(self, person: Person) -> None:
        """Remove the member from the index of its connection."""
        if person.connection is not None and (there := self._by_connection.get(person.connection)) is not None:
            there.discard(person.member_id)
            if not there:
                del self._by_connection[person.connection]
