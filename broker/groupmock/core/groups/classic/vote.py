"""The members vote for the protocol of a generation: among the protocols that all members list, the one that most members prefer wins
(SERVER-14; ClassicGroup.selectProtocol).

Each member votes for its first choice among the candidates. So a group whose members all list the old and the new assignor changes to the
new one when most of them list it first: this is the way from an eager to a cooperative assignor (KIP-429). Kafka has no rule for ties: its
hash maps decide them. Clients can see the result, so it is the same here (P1-d2).
"""

from __future__ import annotations

from collections import Counter

from ...java.hashes import java_hash, spread
from ...java.orders import java_order, scala_trie_order, table_for
from .group import Group, Protocols


def select_protocol(group: Group, scala: bool = False) -> str | None:
    """Return the protocol that wins the vote. Ties are decided as by Kafka's hash map of the votes (with `scala`, the old coordinator's).

    The result is None if a member lists no candidate, at which Kafka's vote throws. That is possible only if a list has a name twice,
    because it is counted twice: the candidates are based on the count, and the winner need not be in every list."""
    # If all members have the same list of protocols, as is usual, all vote for the first name that every member lists.
    if len(group.listings) == 1:
        return next((name for protocols in group.listings for name, _ in protocols if group.supported[name] == len(group.members)), None)
    candidates = {name for name, count in group.supported.items() if count == len(group.members)}
    # Votes are counted by list and not by member, because ten thousand members have one or two different lists.
    votes: Counter[str] = Counter()
    for protocols, listing in group.listings.items():
        choice = _choice(protocols, candidates)
        if choice is None:
            return None
        votes[choice] += listing.members
    most = max(votes.values())
    tied = [name for name in votes if votes[name] == most]
    if len(tied) == 1:
        return tied[0]
    if scala:
        return next(name for name in scala_trie_order(votes, java_hash) if name in tied)
    return _first_in_java(group, candidates, list(votes), tied)


def _choice(protocols: Protocols, candidates: set[str]) -> str | None:
    return next((name for name, _ in protocols if name in candidates), None)


def _first_in_java(group: Group, candidates: set[str], voted: list[str], tied: list[str]) -> str:
    """Return the tied protocol that comes first in Java's hash map of the votes. Names in the same bucket are in the order in which
    members, in map order, first voted for them."""
    mask = table_for(len(voted)) - 1
    if len({spread(name) & mask for name in tied}) < len(tied):
        voted = [choice for member in group.ordered() if (choice := _choice(member.protocols, candidates)) is not None]
    return next(name for name in java_order(voted, java_hash) if name in tied)
