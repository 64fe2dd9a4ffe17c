"""Which protocol a generation uses: of the names all members list, the one most members prefer (SERVER-14; ClassicGroup.selectProtocol).

Members vote for their first choice among the candidates, so that a group whose members all list the old and the new assignor changes over
when most of them put the new one first: how one goes from an eager to a cooperative assignor (KIP-429). Ties are no rule of Kafka's, they
fall out of its hash maps; clients can see them, so they fall here as there (P1-d2).
"""

from __future__ import annotations

from collections import Counter

from ...java.hashes import java_hash, spread
from ...java.orders import java_order, scala_trie_order, table_for
from .group import Group, Protocols


def select_protocol(group: Group, scala: bool = False) -> str | None:
    """The winner of the vote; ties fall as in Kafka's hash map of the votes (`scala`: the old coordinator's).

    None: somebody lists no candidate, which Kafka's vote throws about. Possible only where a list names one twice, for it is counted twice:
    the candidates are what the count makes of them, and the winner need not be on every list.
    """
    if len(group.listings) == 1:  # members mostly list the same: then all vote for the first name that is on every list
        return next((name for protocols in group.listings for name, _ in protocols if group.supported[name] == len(group.members)), None)
    candidates = {name for name, count in group.supported.items() if count == len(group.members)}
    votes: Counter[str] = Counter()  # by list, not by member: ten thousand members have one or two
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
    """Names that share a bucket stand in the order in which members, in map order, first voted for them."""
    mask = table_for(len(voted)) - 1
    if len({spread(name) & mask for name in tied}) < len(tied):
        voted = [choice for member in group.ordered() if (choice := _choice(member.protocols, candidates)) is not None]
    return next(name for name in java_order(voted, java_hash) if name in tied)
