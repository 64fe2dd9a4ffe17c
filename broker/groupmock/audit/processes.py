"""The processes of clients. Kafka's protocol tells only a host and a client id of a process, and two processes may have the same. So no
client is blamed for another: a question about a process is answered only where one member alone can be meant."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from groupmock_codec.api_keys import FIND_COORDINATOR

if TYPE_CHECKING:
    from .subjects import Exchange, Link, Member


class Process:
    """The members and connections with one host and client id. `sought`: see Link; `topics` maps topics to the fewest partitions that it
    was told of."""

    __slots__ = ("links", "members", "sought", "topics")

    def __init__(self) -> None:
        self.members: set[Member] = set()
        self.links: set[Link] = set()
        self.sought = -1
        self.topics: Mapping[str, int] = {}


class Processes:
    """Processes by host and client id, kept while they have a connection or a member."""

    def __init__(self) -> None:
        self._by_client: dict[tuple[str, str | None], Process] = {}
        self._heard: Mapping[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_client)

    def clear(self) -> None:
        """Nobody is known any more."""
        self._by_client.clear()

    def sole_member(self, link: Link) -> Member | None:
        """The one member of the process that this connection is of; None where that cannot be told."""
        found = self.members_of(link.client)
        return next(iter(found)) if len(found) == 1 and self._certain(link.client) else None

    def muffled(self, link: Link) -> bool:
        """Has the process of this connection one on which an answer was lost? What it asked there since may not be seen."""
        process = self._by_client.get(link.client)
        return link.lossy or (process is not None and any(each.lossy for each in process.links))

    def members_of(self, client: tuple[str, str | None]) -> Set[Member]:
        """Members of this host and client id, of one process or of several."""
        found = self._by_client.get(client)
        return frozenset() if found is None else found.members

    def last_of(self, link: Link) -> bool:
        """Has whoever has this host and client id no other connection?"""
        found = self._by_client.get(link.client)
        return found is None or found.links <= {link}

    def heard_of(self, member: Member) -> Mapping[str, int]:
        """Topic -> the fewest partitions that its process was told of; nothing where it is not known which process that is."""
        process = self._process(member)
        return {} if process is None else process.topics

    def spoke(self, member: Member) -> int:
        """When its process was last heard of (ns) by the same node: by its own connection or any that is surely of the same process. What
        other nodes hear of it does not show that it could reach this one."""
        process = self._process(member)
        others = () if process is None else process.links
        return max((link.spoke for link in (member.link, *others) if link.node == member.link.node), default=-1)

    def sought(self, member: Member) -> int:
        """When its process last asked FindCoordinator (ns)."""
        process = self._process(member)
        return member.link.sought if process is None else max(process.sought, member.link.sought)

    def _process(self, member: Member) -> Process | None:
        client = member.host, member.client_id
        return self._by_client[client] if len(self.members_of(client)) == 1 and self._certain(client) else None

    def _certain(self, client: tuple[str, str | None]) -> bool:
        """Return whether all members of the process are known. The host of connections older than the journal is unknown, so one of
        their members may be of this process."""
        host, client_id = client
        unknown = self._by_client.get(("", client_id)) if host else None
        return unknown is None or not unknown.members

    def speaks(self, x: Exchange) -> None:
        """A request of it has come."""
        link = x.link
        process = self._by_client.get((link.host, x.client_id))
        if process is None:
            process = self._by_client[link.host, x.client_id] = Process()
        if link.client_id != x.client_id:
            self.without(link)
            link.client_id = x.client_id
        process.links.add(link)
        link.spoke = x.received
        if x.key == FIND_COORDINATOR:
            process.sought = link.sought = x.received

    def without(self, link: Link) -> None:
        """This connection is not its own any more."""
        process = self._by_client.get(link.client)
        if process is not None:
            process.links.discard(link)
            self._ended(link.client, process)

    def named(self, member: Member, x: Exchange) -> None:
        """A member spoke by this connection: it is of its process."""
        if (member.host, member.client_id) != x.link.client:
            self.nameless(member)
            member.client_id, member.host = x.client_id, x.link.host
        self._by_client.setdefault(x.link.client, Process()).members.add(member)

    def nameless(self, member: Member) -> None:
        """The member is none of it any more."""
        client = member.host, member.client_id
        process = self._by_client.get(client)
        if process is not None:
            process.members.discard(member)
            self._ended(client, process)

    def _ended(self, client: tuple[str, str | None], process: Process) -> None:
        if not process.members and not process.links:
            self._by_client.pop(client, None)

    def told(self, link: Link, topics: Mapping[str, int]) -> None:
        """An answer to Metadata: topic -> partitions."""
        process = self._by_client.get(link.client)
        if process is not None and any(process.topics.get(name, count + 1) > count for name, count in topics.items()):
            process.topics = self._shared({**process.topics, **topics, **_fewer(process.topics, topics)})

    def _shared(self, topics: Mapping[str, int]) -> Mapping[str, int]:
        """Most processes were told the same: they have it in common."""
        if topics != self._heard:
            self._heard = topics
        return self._heard


def _fewer(known: Mapping[str, int], told: Mapping[str, int]) -> dict[str, int]:
    return {name: min(count, told[name]) for name, count in known.items() if name in told}
