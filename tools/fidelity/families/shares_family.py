"""Generate exchanges of share groups (KIP-932): several members with share sessions, records of plain and transactional producers,
acknowledgements of every type in their own requests and in fetches, redelivery, administrators of offsets and configs.

Left out is what chance decides on a broker: whether a fetch sees records that it releases itself, records that another member released
while it was parked (docs/kafka/share-groups.md#sg-177). The
first fetch of a partition waits for more bytes than there are, because a broker reads the stored state meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from groupmock.core.log.names import OFFSETS_TOPIC
from groupmock_codec.api_keys import (
    ALTER_PARTITION_REASSIGNMENTS,
    ALTER_SHARE_GROUP_OFFSETS,
    DELETE_GROUPS,
    DELETE_SHARE_GROUP_OFFSETS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    INCREMENTAL_ALTER_CONFIGS,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    SHARE_GROUP_DESCRIBE,
    SHARE_GROUP_HEARTBEAT,
)

from ..generated.script import Json, Script, TopicNeed, act, group, told, topic, topic_id, transactional_id, written
from .log_family import KEPT, SETTLING_MS
from .shares_acknowledgements import MANY, acknowledged_by, renews
from .shares_author import Place, ShareMember, SharesAuthor

PRODUCER: Final = "P"
TRANSACTIONAL: Final = "T"
ADMIN: Final = "O"
LONG_LOCK_MS: Final = 30_000
LOCK_MS: Final = 2000
"""The lock of records in groups that do not set another (settings_classes.py)."""
WAIT_MS: Final = 400
WAITING_MS: Final = 2 * WAIT_MS
"""The time in which a fetch that waits, and what is sent meanwhile, is surely over."""
MOVED_MS: Final = 300
"""The time that a former leader may take to forget its share partitions."""
RELEASED_MS: Final = 250
"""The time that a broker may take to release the records of a closed session."""
MOST_BYTES: Final = 1 << 20
EVEN_BYTES: Final = (60, 180, 420)
"""Limits of bytes that up to six partitions can share evenly: a broker draws which partition gets the rest (PartitionMaxBytesStrategy)."""
LENGTHS: Final = (1, 1, 1, 2, 3, 4, 8)


def generate(seed: int, release: str) -> Script:
    return script_of("shares", seed, release)


def script_of(family: str, seed: int, release: str) -> Script:
    """Return a script of the family, whose class of broker settings has the same name."""
    rng = Random(f"{family} {release} {seed}")
    topics = [TopicNeed(rng.choice((1, 1, 2, 3)), True, KEPT) for _ in range(rng.choice((1, 1, 1, 2)))]
    groups = rng.choice((1, 1, 1, 2))
    script = Script(family, seed, release, family, [], groups, topics)
    members = [ShareMember(name, rng.choice((1, 1, groups))) for name in "ABC"[: rng.choice((1, 2, 2, 3))]]
    author = SharesAuthor(script, rng, members)
    _begin(author)
    length = len(script.steps) + rng.randint(12, 34)
    acts = {**ACTS, **MOVES} if author.several else ACTS
    if author.several and rng.random() < 0.06:
        acts |= {_move_coordinators: 25}  # Few scripts do, because no other is played meanwhile.
    while len(script.steps) < length:
        rng.choices(list(acts), list(acts.values()))[0](author)
    for member in members:
        if author.waits(member.name):
            author.wait(WAIT_MS)
        for member.node in range(1, len(author.facts.nodes) + 1):
            if author.session(member) is not None:
                _close(author, member)
    return script


def _begin(author: SharesAuthor) -> None:
    """Configure the groups, let their members join, and produce some records."""
    rng = author.rng
    for number in range(1, author.script.groups + 1):
        configs = {"share.auto.offset.reset": rng.choice(("earliest", "earliest", "earliest", "latest"))}
        if rng.random() < 0.7:
            configs["share.record.lock.duration.ms"] = str(LONG_LOCK_MS)
        if rng.random() < 0.4:
            configs["share.isolation.level"] = "read_committed"
        if rng.random() < 0.6:
            configs["share.delivery.count.limit"] = rng.choice(("2", "3", "4", "6"))
        if rng.random() < 0.3:
            configs["share.partition.max.record.locks"] = "100"
        _configure(author, number, configs)
    author.wait(SETTLING_MS)
    if rng.random() < 0.5 and not author.several:
        author.send(TRANSACTIONAL, 22, 4, {"transactional_id": transactional_id(1), "transaction_timeout_ms": 60_000})
    names = [topic(number) for number in range(1, len(author.script.topics) + 1)]
    joined: set[int] = set()
    for member in author.members:
        if member.group not in joined or rng.random() < 0.3:
            joined.add(member.group)
            author.member_sends(member, SHARE_GROUP_HEARTBEAT, 1, {"member_epoch": 0, "subscribed_topic_names": names})
    for _ in range(rng.choice((1, 2, 3))):
        _produce(author)


def _configure(author: SharesAuthor, number: int, configs: dict[str, str]) -> None:
    changes = [{"name": name, "config_operation": 0, "value": value} for name, value in configs.items()]
    resources = [{"resource_type": 32, "resource_name": group(number), "configs": changes}]
    author.send(ADMIN, INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})


# -- records -----------------------------------------------------------------------------------------------------------


def _produce(author: SharesAuthor) -> None:
    """Append one or more plain batches, each with a request of its own."""
    rng = author.rng
    for _ in range(rng.choice((1, 1, 2))):
        count = MANY if rng.random() < 0.12 else rng.choice(LENGTHS)
        _append(author, PRODUCER, rng.choice(author.places()), written("records", *["v"] * count))


def _append(author: SharesAuthor, client: str, place: Place, records: Json, **fields: Json) -> None:
    data = [{"name": topic(place[0]), "partition_data": [{"index": place[1], "records": records}]}]
    author.send(client, 0, 9, {"acks": -1, "timeout_ms": 5000, "topic_data": data, **fields}, _to_leader(author, client, place))


def _to_leader(author: SharesAuthor, client: str, place: Place) -> str | None:
    """Return the client's connection to the leader of a partition, or None if there is one node."""
    return f"{client}/{author.leader_of(place)}" if author.several else None


def _transact(author: SharesAuthor) -> None:
    """Append batches in a transaction, or end it."""
    rng = author.rng
    known = author.player.core.cluster.transactions.find(f"{author.facts.groups[0]}-x1")
    if known is None:
        return
    holder: dict[str, Json] = {name: told(TRANSACTIONAL, name) for name in ("producer_id", "producer_epoch")}
    if rng.random() < 0.5 and _end_transaction(author):
        return
    place = rng.choice(author.places())
    named = [{"name": topic(place[0]), "partitions": [place[1]]}]
    fields = {"transactional_id": transactional_id(1), **holder, "topics": named}
    author.send(TRANSACTIONAL, 24, 3, {f"v3_and_below_{name}": value for name, value in fields.items()})
    sequence = author.sequences.get(place, 0)
    count = rng.choice(LENGTHS)
    author.sequences[place] = sequence + count
    records = written("transactional", holder["producer_id"], holder["producer_epoch"], sequence, *["t"] * count)
    _append(author, TRANSACTIONAL, place, records, transactional_id=transactional_id(1))


def _end_transaction(author: SharesAuthor) -> bool:
    """End the transaction, and return whether there is one."""
    known = author.player.core.cluster.transactions.find(f"{author.facts.groups[0]}-x1")
    if known is None or str(known.state) != "Ongoing":
        return False
    holder: dict[str, Json] = {name: told(TRANSACTIONAL, name) for name in ("producer_id", "producer_epoch")}
    author.send(TRANSACTIONAL, 26, 3, {"transactional_id": transactional_id(1), **holder, "committed": author.rng.random() < 0.5})
    return True


def _delete_records(author: SharesAuthor) -> None:
    """Delete records of the only partition. With several ones, a fetch that begins before the log is answered when others are not read."""
    if len(author.places()) > 1:
        return
    place = author.rng.choice(author.places())
    offset = author.rng.randint(0, author.end_of(place))
    topics = [{"name": topic(place[0]), "partitions": [{"partition_index": place[1], "offset": offset}]}]
    author.send(ADMIN, 21, 2, {"timeout_ms": 5000, "topics": topics}, _to_leader(author, ADMIN, place))


# -- fetching ----------------------------------------------------------------------------------------------------------


def _member(author: SharesAuthor) -> ShareMember | None:
    """Return a member that does not wait for an answer, if there is one. If there are several nodes, it may go to another one."""
    idle = [member for member in author.members if not author.waits(member.name)]
    chosen = author.rng.choice(idle) if idle else None
    if chosen is not None and author.several and author.rng.random() < 0.5:
        chosen.node = author.leader_of(author.rng.choice(author.places()))
    return chosen


def _fetch(author: SharesAuthor) -> None:
    """Send a ShareFetch as a client would, or one with odd limits, sometimes with acknowledgements."""
    member = _member(author)
    if member is None:
        return
    rng, session = author.rng, author.session(member)
    fields: dict[str, Json] = {
        "max_wait_ms": 0, "min_bytes": 1, "max_bytes": rng.choice((MOST_BYTES, MOST_BYTES, MOST_BYTES, *EVEN_BYTES)),
        "max_records": rng.choice((500, 500, 500, 1, 2, 3, 5, 10)), "batch_size": rng.choice((500, 500, 500, 1, 2, 5)),
        "share_acquire_mode": rng.choice((0, 0, 1)),
    }  # fmt: skip
    wanted = set() if session is not None and rng.random() < 0.7 else set(rng.sample(author.places(), rng.randint(1, len(author.places()))))
    acknowledged = acknowledged_by(author, member, piggybacked=True) if session is not None and rng.random() < 0.3 else {}
    if any(author.is_full(member, place) or author.is_cut(member, place) for place in acknowledged):
        acknowledged = {}  # Whether the fetch sees that the acknowledged records are done, is a matter of time.
    epoch = _epoch(author, member)
    there = {place for place in author.places() if session is not None and _slot(author, place) in session.slots}
    named = {*wanted, *acknowledged, *there}
    loaded = all(author.is_loaded(member, place) for place in named)
    if named and not any(author.is_stored(member, place) for place in named):
        return  # A broker answers at once if it has learned early enough that none of them is initialized.
    if not loaded:
        # A broker reads the stored states while the fetch waits for bytes that never come. A partition that begins behind the first open
        # transaction is answered at once, when others may not be read yet.
        _end_transaction(author)
        fields |= {"min_bytes": MOST_BYTES, "max_bytes": MOST_BYTES, "max_wait_ms": WAIT_MS}
    elif rng.random() < 0.06:
        fields |= {rng.choice(("max_records", "max_bytes")): 0}
    elif rng.random() < 0.1:
        waiting = {"min_bytes": rng.choice((0, 100, 300)), "max_wait_ms": WAIT_MS}
        fields |= {} if author.split_lock_ends(member, WAITING_MS) else waiting
    if rng.random() < 0.02:
        fields["share_acquire_mode"] = rng.choice((2, -1))
    if session is not None and rng.random() < 0.08:
        gone = rng.choice(author.places())
        fields["forgotten_topics_data"] = [{"topic_id": topic_id(gone[0]), "partitions": [gone[1]]}]
    topics = _topics(author, wanted | acknowledged.keys(), acknowledged)
    author.member_sends(member, SHARE_FETCH, author.version(SHARE_FETCH), {**fields, "share_session_epoch": epoch, "topics": topics})
    if not loaded:
        author.wait(WAIT_MS)


def _slot(author: SharesAuthor, place: Place) -> tuple[bytes, int]:
    return author.facts.topics[place[0] - 1].topic_id, place[1]


def _topics(author: SharesAuthor, places: set[Place], acknowledged: dict[Place, list[Json]]) -> list[Json]:
    """Return the topics of a request in a random order, sometimes with a topic or a partition that does not exist."""
    rng = author.rng
    shuffled = sorted(places)
    rng.shuffle(shuffled)
    topics: dict[int, list[Json]] = {}
    for number, index in shuffled:
        topics.setdefault(number, []).append({"partition_index": index, "acknowledgement_batches": acknowledged.get((number, index), [])})
    if rng.random() < 0.03:
        topics.setdefault(rng.choice((1, len(author.script.topics) + 1)), []).append({"partition_index": 7, "acknowledgement_batches": []})
    return [{"topic_id": topic_id(number), "partitions": rows} for number, rows in topics.items()]


def _epoch(author: SharesAuthor, member: ShareMember) -> int:
    """Return the session epoch that the next request of a member needs, or sometimes another one."""
    session = author.session(member)
    expected = 0 if session is None else session.epoch
    return expected if author.rng.random() < 0.94 else author.rng.choice((0, 0, 1, expected + 1, max(expected - 1, 0), -2, 2**31 - 1))


def _wait_for_records(author: SharesAuthor) -> None:
    """Let a member wait for records, which a producer or the end of a lock brings, or nobody."""
    member = _member(author)
    if member is None or (session := author.session(member)) is None:
        return
    rng = author.rng
    if not all(author.is_loaded(member, place) for place in author.places() if _slot(author, place) in session.slots):
        return
    if author.split_lock_ends(member, WAITING_MS):
        return
    fields = {
        "max_wait_ms": WAIT_MS, "min_bytes": rng.choice((1, 1, 1, 120)), "max_bytes": MOST_BYTES, "max_records": rng.choice((500, 1, 3)),
        "batch_size": 500, "share_acquire_mode": rng.choice((0, 0, 1)), "share_session_epoch": session.epoch,
    }  # fmt: skip
    author.member_sends(member, SHARE_FETCH, author.version(SHARE_FETCH), fields)
    if author.waits(member.name):
        for _ in range(rng.choice((0, 1, 1, 2))):
            moves = (_move_leader,) if author.several else ()
            rng.choice((_produce, _produce, _transact, lambda author: _acknowledge(author, released=False), *moves))(author)
        author.wait(WAIT_MS)


# -- acknowledging -----------------------------------------------------------------------------------------------------


def _acknowledge(author: SharesAuthor, released: bool = True) -> None:
    """Send a ShareAcknowledge of a member's records, or of others."""
    member = _member(author)
    if member is None or (author.session(member) is None and author.rng.random() < 0.95):
        return
    rng = author.rng
    acknowledged = acknowledged_by(author, member, piggybacked=not released)
    places = set(acknowledged)
    if rng.random() < 0.1:
        places.add(rng.choice(author.places()))
    fields = {
        "share_session_epoch": _epoch(author, member), "topics": _topics(author, places, acknowledged),
        "is_renew_ack": renews(acknowledged) != (rng.random() < 0.03),
    }  # fmt: skip
    author.member_sends(member, SHARE_ACKNOWLEDGE, author.version(SHARE_ACKNOWLEDGE), fields)


def _renew(author: SharesAuthor) -> None:
    """Renew locks by a ShareFetch, which fetches nothing."""
    member = _member(author)
    session = None if member is None else author.session(member)
    if member is None or session is None:
        return
    acknowledged = acknowledged_by(author, member, piggybacked=False)
    fields = {
        "is_renew_ack": True, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": author.rng.choice((0, 0, 0, 0, 5)),
        "share_session_epoch": _epoch(author, member), "topics": _topics(author, set(acknowledged), acknowledged),
    }  # fmt: skip
    author.member_sends(member, SHARE_FETCH, 2, fields)


# -- sessions ----------------------------------------------------------------------------------------------------------


def _close(author: SharesAuthor, member: ShareMember | None = None) -> None:
    """End a member's share session, sometimes with its last acknowledgements."""
    member = member or _member(author)
    if member is None:
        return
    rng = author.rng
    acknowledged = acknowledged_by(author, member, piggybacked=False) if rng.random() < 0.5 else {}
    fields: dict[str, Json] = {"share_session_epoch": -1, "topics": _topics(author, set(acknowledged), acknowledged)}
    if rng.random() < 0.3:
        fields |= {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
        fields |= {"is_renew_ack": True} if renews(acknowledged) else {}
        author.member_sends(member, SHARE_FETCH, 2, fields)
    else:
        author.member_sends(member, SHARE_ACKNOWLEDGE, 2, {**fields, "is_renew_ack": renews(acknowledged)})
    author.wait(RELEASED_MS)


def _drop(author: SharesAuthor) -> None:
    """Close the connection of a member, which ends the session that it opened there."""
    if (member := _member(author)) is not None:
        author.write(act(f"{member.name}/{member.node}" if author.several else member.name, "reconnects"))
        author.wait(RELEASED_MS)


# -- groups and administrators -----------------------------------------------------------------------------------------


def _beat(author: SharesAuthor) -> None:
    """Send a heartbeat of any epoch."""
    member = author.rng.choice(author.members)
    rng = author.rng
    epoch: Json = rng.choice((told(member.name, "epoch"), told(member.name, "epoch"), told(member.name, "epoch", -1), 0, -1, 9))
    fields: dict[str, Json] = {"member_epoch": epoch}
    if epoch == 0 or rng.random() < 0.2:
        fields["subscribed_topic_names"] = [topic(number) for number in range(1, len(author.script.topics) + rng.choice((1, 1, 2)))]
    author.member_sends(member, SHARE_GROUP_HEARTBEAT, 1, fields)


def _leave(author: SharesAuthor) -> None:
    for member in author.members:
        author.member_sends(member, SHARE_GROUP_HEARTBEAT, 1, {"member_epoch": -1})


def _describe(author: SharesAuthor) -> None:
    rng, names = author.rng, [group(number) for number in range(1, author.script.groups + 1)]
    if rng.random() < 0.3:
        author.send(ADMIN, SHARE_GROUP_DESCRIBE, 1, {"group_ids": [*names, *rng.choice(([], [group(9)]))]})
        return
    named = [{"topic_name": topic(number), "partitions": [0, 1][: need.partitions]} for number, need in enumerate(author.script.topics, 1)]
    groups = [{"group_id": name, "topics": rng.choice((None, named))} for name in names]
    author.send(ADMIN, DESCRIBE_SHARE_GROUP_OFFSETS, author.version(DESCRIBE_SHARE_GROUP_OFFSETS), {"groups": groups})


def _alter_offsets(author: SharesAuthor) -> None:
    """Alter or delete offsets of a group, which is refused while it has members."""
    rng, name = author.rng, group(author.rng.randint(1, author.script.groups))
    if rng.random() < 0.5:
        _leave(author)
    place = rng.choice(author.places())
    if rng.random() < 0.7:
        # Offsets that the log has not got are answered at once, when other partitions may not be read yet.
        outside = (-1, author.end_of(place) + 1) if len(author.places()) == 1 else ()
        offset = rng.choice((0, min(1, author.end_of(place)), author.end_of(place), rng.randint(0, author.end_of(place)), *outside))
        rows = [{"partition_index": index, "start_offset": offset} for index in dict.fromkeys((place[1], rng.choice((place[1], 7))))]
        topics: list[Json] = [{"topic_name": topic(place[0]), "partitions": rows}]
        author.send(ADMIN, ALTER_SHARE_GROUP_OFFSETS, 0, {"group_id": name, "topics": topics})
    else:
        numbers = dict.fromkeys((place[0], rng.choice((place[0], len(author.script.topics) + 1))))
        topics = [{"topic_name": topic(number)} for number in numbers]
        author.send(ADMIN, DELETE_SHARE_GROUP_OFFSETS, 0, {"group_id": name, "topics": topics})


def _delete_group(author: SharesAuthor) -> None:
    author.send(ADMIN, DELETE_GROUPS, 2, {"groups_names": [group(1)]})


def _change_config(author: SharesAuthor) -> None:
    rng = author.rng
    name, values = rng.choice((
        ("share.delivery.count.limit", ("2", "3", "5")), ("share.isolation.level", ("read_committed", "read_uncommitted")),
        ("share.renew.acknowledge.enable", ("false", "true")), ("share.partition.max.record.locks", ("100", "200")),
    ))  # fmt: skip
    _configure(author, rng.randint(1, author.script.groups), {name: rng.choice(values)})
    author.wait(SETTLING_MS)


def _pause_for_locks(author: SharesAuthor) -> None:
    """Wait until short locks have ended, if a member holds records."""
    deadline = author.player.deadline_ms()
    if deadline is not None and deadline - author.now < 2 * LOCK_MS and author.rng.random() < 0.6:
        author.wait(round(deadline - author.now) + 200)


# -- nodes -------------------------------------------------------------------------------------------------------------


def _move_leader(author: SharesAuthor) -> None:
    """Let the other node lead a partition."""
    place = author.rng.choice(author.places())
    _reassign(author, topic(place[0]), {place[1]: 3 - author.leader_of(place)})


def _move_coordinators(author: SharesAuthor) -> None:
    """Let the other node coordinate all groups."""
    places = author.player.core.cluster.groups.hosting.places
    _reassign(author, OFFSETS_TOPIC, dict.fromkeys(range(places), 3 - author.coordinator))


def _reassign(author: SharesAuthor, name: Json, leaders: dict[int, int]) -> None:
    rows = [{"partition_index": index, "replicas": [node]} for index, node in leaders.items()]
    author.send(ADMIN, ALTER_PARTITION_REASSIGNMENTS, 0, {"timeout_ms": 10_000, "topics": [{"name": name, "partitions": rows}]})
    author.wait(MOVED_MS)


Act = Callable[[SharesAuthor], Any]
ACTS: Final[dict[Act, int]] = {
    _fetch: 34,
    _acknowledge: 30,
    _produce: 12,
    _transact: 8,
    _wait_for_records: 5,
    _pause_for_locks: 6,
    _renew: 2,
    _close: 3,
    _drop: 1,
    _beat: 3,
    _describe: 5,
    _alter_offsets: 2,
    _delete_records: 1,
    _change_config: 1,
    _delete_group: 1,
}
"""Maps each action of the shares family to its weight."""
MOVES: Final[dict[Act, int]] = {_move_leader: 10}
"""Maps each action with several nodes to its weight."""
