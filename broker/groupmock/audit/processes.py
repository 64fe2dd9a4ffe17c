"""The audit groups connections and members by their client process. Kafka's protocol tells only the host and client id of a process, and
two processes may have the same values. So that no client is blamed for another, a question about a process is answered only if a single
member can be meant."""

from __future__ import annotations

from collections.abc import Mapping, Set
from copy import copy
from typing import TYPE_CHECKING

from groupmock_codec.api_keys import FIND_COORDINATOR

if TYPE_CHECKING:
    from .subjects import Exchange, Link, Member


class Process:
    """The members and connections with one host and client id. `sought` is as in `Link`, and `refused` the time (ns) at which a Produce was
    last answered with an error. `topics` maps topics to the smallest number of partitions in answers to the process."""

    __slots__ = ("links", "members", "refused", "sought", "topics")

    def __init__(self) -> None:
        self.members: set[Member] = set()
        self.links: set[Link] = set()
        self.sought = self.refused = -1
        self.topics: Mapping[str, int] = {}


class Processes:
    """The processes by host and client id, each kept while it has a connection or a member."""

    def __init__(self) -> None:
        self._by_client: dict[tuple[str, str | None], Process] = {}
        self._heard: Mapping[str, int] = {}
        self._answer: Mapping[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_client)

    def clear(self) -> None:
        self._by_client.clear()

    def sole_member(self, link: Link) -> Member | None:
        """Return the only member of the process that this connection belongs to, or None if that is uncertain."""
        found = self.members_of(link.client)
        return next(iter(found)) if len(found) == 1 and self._certain(link.client) else None

    def muffled(self, link: Link) -> bool:
        """Return whether an answer to the process was lost on any of its connections, so that later requests of the process may be
        missing."""
        process = self._by_client.get(link.client)
        return link.lossy or (process is not None and any(each.lossy for each in process.links))

    def members_of(self, client: tuple[str, str | None]) -> Set[Member]:
        """Return the members with this host and client id, which may belong to several processes."""
        found = self._by_client.get(client)
        return frozenset() if found is None else found.members

    def one_thread(self, link: Link) -> bool:
        """Return whether the client of this connection has no other connection, except those on which other members speak."""
        found = self._by_client.get(link.client)
        return found is None or all(each is link or each.last not in (None, link.last) for each in found.links)

    def last_of(self, link: Link) -> bool:
        """Return whether this is the only connection with its host and client id."""
        found = self._by_client.get(link.client)
        return found is None or found.links <= {link}

    def heard_of(self, member: Member) -> Mapping[str, int]:
        """Return how many partitions of each topic the member's process has been told, at the least. The result is empty if the process
        is uncertain."""
        process = self._process(member)
        return {} if process is None else process.topics

    def last_metadata(self, member: Member) -> tuple[Exchange, Mapping[str, int]] | None:
        """Return the last answer to Metadata on a connection that is certainly of the member's process, with its topics."""
        process = self._process(member)
        links = {member.link} if process is None else {member.link, *process.links}
        return max((each.learned for each in links if each.learned is not None), key=lambda found: found[0].answer_seq, default=None)

    def spoke(self, member: Member) -> int:
        """Return the time (ns) at which the member's process last sent something to the same node, on a connection that is its own.
        Requests to other nodes do not show that the process could reach this node. A connection that was opened after the member's last
        sign of life may belong to another process, which has the same client id and was started after this one had died."""
        process = self._process(member)
        others = () if process is None else process.links
        until = max(member.seen, member.alive)
        known = (member.link, *(link for link in others if link.opened <= until))
        return max((link.spoke for link in known if link.node == member.link.node), default=-1)

    def sought(self, member: Member) -> int:
        """Return the time (ns) at which the member's process last looked up its coordinator."""
        process = self._process(member)
        return member.link.sought if process is None else max(process.sought, member.link.sought)

    def refuses(self, link: Link, at: int) -> None:
        """Note that a Produce of the process was answered with an error."""
        process = self._by_client.get(link.client)
        if process is not None:
            process.refused = at

    def refused(self, link: Link) -> int:
        """Return the time (ns) at which a Produce of the process was last answered with an error, or -1."""
        process = self._by_client.get(link.client)
        return -1 if process is None else process.refused

    def _process(self, member: Member) -> Process | None:
        client = member.host, member.client_id
        return self._by_client[client] if len(self.members_of(client)) == 1 and self._certain(client) else None

    def _certain(self, client: tuple[str, str | None]) -> bool:
        """Return whether all members of the process with this host and client id are known. The host of connections older than the
        journal is unknown, so one of their members may be of this process."""
        host, client_id = client
        unknown = self._by_client.get(("", client_id)) if host else None
        return unknown is None or not unknown.members

    def speaks(self, x: Exchange) -> None:
        """Note that a request of the process has arrived."""
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
        """Remove a connection from its process, because it has ended or was given to another."""
        process = self._by_client.get(link.client)
        if process is not None:
            process.links.discard(link)
            self._ended(link.client, process)

    def named(self, member: Member, x: Exchange) -> None:
        """Note that a member used this connection, and so belongs to the connection's process."""
        if (member.host, member.client_id) != x.link.client:
            self.nameless(member)
            member.client_id, member.host = x.client_id, x.link.host
        self._by_client.setdefault(x.link.client, Process()).members.add(member)

    def nameless(self, member: Member) -> None:
        """Remove a member from its process."""
        client = member.host, member.client_id
        process = self._by_client.get(client)
        if process is not None:
            process.members.discard(member)
            self._ended(client, process)

    def _ended(self, client: tuple[str, str | None], process: Process) -> None:
        if not process.members and not process.links:
            self._by_client.pop(client, None)

    def told(self, x: Exchange, topics: Mapping[str, int]) -> None:
        """Note the topics and their numbers of partitions in an answer to Metadata that the process got."""
        process = self._by_client.get(x.link.client)
        if process is not None and any(process.topics.get(name, count + 1) > count for name, count in topics.items()):
            process.topics = self._shared({**process.topics, **topics, **_fewer(process.topics, topics)})
        if topics != self._heard and topics != self._answer:
            self._answer = topics
        heard = copy(x)  # The answer itself is not kept, because it may be large.
        heard.asked, heard.answer = {}, None
        x.link.learned = heard, self._heard if topics == self._heard else self._answer

    def _shared(self, topics: Mapping[str, int]) -> Mapping[str, int]:
        """Return one shared object for equal topics, because most processes get the same answers to Metadata."""
        if topics != self._heard:
            self._heard = topics
        return self._heard


def _fewer(known: Mapping[str, int], told: Mapping[str, int]) -> dict[str, int]:
    return {name: min(count, told[name]) for name, count in known.items() if name in told}
