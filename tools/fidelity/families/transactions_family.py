"""Generate exchanges about transactions: producers of old and new clients, readers of both isolation levels, transactional offset
commits, fencing, retries, timeouts and administrators. Topics are the script's own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from groupmock_clients.probe.language.syntax import Expr, Ref

from ..generated.script import IDS, Json, Script, TopicNeed, group, told, topic, topic_id, transactional_id, written
from .log_family import KEPT, SETTLING_MS
from .transactions_author import NOBODY, Place, Producer, TransactionsAuthor

READER: Final = "R"
WAITER: Final = "W"
ADMIN: Final = "O"
JOIN_MS: Final = 480
"""A group of one member waits for this time, its initial rebalance delay (settings_classes.BASE) and a rest."""
LONG_MS: Final = 60_000
LONGEST_MS: Final = 5000
WAIT_MS: Final = 700
STATES: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "ongoing", "Dead", "PrepareEpochFence", "x")
EAGER: Final = 0.62
"""The share of actions that a client library would choose in the same situation."""


def generate(seed: int, release: str) -> Script:
    rng = Random(f"transactions {release} {seed}")
    topics = [TopicNeed(rng.randint(1, 2), True, KEPT) for _ in range(rng.choice((1, 1, 2)))]
    script = Script("transactions", seed, release, "quick", [], 2, topics)
    author = TransactionsAuthor(script, rng, some_producers(rng, release))
    acts = [act for act in ACTS if act is not admin or 65 in author.versions]
    weights = [ACTS[act] for act in acts]
    length = rng.randint(9, 26)
    while len(script.steps) < length and author.now < LONGEST_MS:
        if rng.random() < EAGER:
            _go_on(author, rng.choice(author.producers))
        else:
            rng.choices(acts, weights)[0](author)
    return script


def some_producers(rng: Random, release: str) -> list[Producer]:
    """Make up to three producers with transactional ids, which may be the same, and sometimes one without an id."""
    hurried = rng.random() < 0.15
    found = []
    for name in ("P", "Q", "S")[: rng.choice((1, 2, 2, 3))]:
        timeout = rng.choice((300, 500, 900)) if hurried and rng.random() < 0.7 else LONG_MS
        found.append(Producer(name, rng.choice(IDS), release != "3.9" and rng.random() < 0.55, timeout))
    if rng.random() < 0.25:
        found.append(Producer("N", None, release != "3.9" and rng.random() < 0.5, LONG_MS))
    return found


# -- what a producer does next ------------------------------------------------------------------------------------------


def _go_on(author: TransactionsAuthor, producer: Producer) -> None:
    """Let a producer act as a client library would in its situation."""
    rng = author.rng
    if producer.holder is None or (author.is_fenced(producer) and rng.random() < 0.6):
        init_producer(author, producer, own=False)
    elif producer.number is None:
        _produce(author, producer)
    else:
        known = author.transaction(producer)
        under_way = known is not None and str(known.state) == "Ongoing"
        if not under_way and not producer.new:
            (_add_partitions if rng.random() < 0.6 else add_offsets)(author, producer)
        elif under_way and rng.random() < 0.35:
            end_transaction(author, producer)
        elif rng.random() < 0.6:
            _produce(author, producer)
        else:
            commit_offsets(author, producer)


def init_producer(author: TransactionsAuthor, producer: Producer, own: bool | None = None) -> None:
    """Send InitProducerId as a new process, or with the producer's own id and epoch (KIP-360)."""
    rng = author.rng
    own = rng.random() < 0.4 if own is None else own
    fields: dict[str, Json] = {"transactional_id": producer.id, "transaction_timeout_ms": producer.timeout_ms}
    if rng.random() < 0.03:
        fields["transaction_timeout_ms"] = rng.choice((0, -1, 900_001))
    if own:
        fields |= author.holder(producer, 0.25)
    author.send(producer.name, 22, author.version(22, 3 if own else 0), fields)


def _add_partitions(author: TransactionsAuthor, producer: Producer) -> None:
    """Send AddPartitionsToTxn as a client or as a broker does."""
    rng, version = author.rng, author.version(24)
    places: dict[Json, list[int]] = {}
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3)) if rng.random() < 0.3 else rng.choice((1, 2))):
        number, index = author.place()
        places.setdefault(number, []).append(index)
    if rng.random() < 0.06:
        places.setdefault(rng.choice((1, len(author.script.topics) + 1)), []).append(rng.choice((0, 7)))
    topics = [{"name": topic(number), "partitions": list(dict.fromkeys(indexes))} for number, indexes in places.items()]
    who = {"transactional_id": author.named(producer), **author.holder(producer)}
    if version >= 4:
        fields: dict[str, Json] = {"transactions": [{**who, "verify_only": rng.random() < 0.3, "topics": topics}]}
    else:
        fields = {f"v3_and_below_{name}": value for name, value in {**who, "topics": topics}.items()}
    author.send(producer.name, 24, version, fields)


def add_offsets(author: TransactionsAuthor, producer: Producer) -> None:
    fields = {"transactional_id": author.named(producer), **author.holder(producer), "group_id": _group(author)}
    author.send(producer.name, 25, author.version(25), fields)


def _group(author: TransactionsAuthor) -> Json:
    return group(author.rng.choice((1, 1, 1, 2))) if author.rng.random() < 0.97 else ""


def end_transaction(author: TransactionsAuthor, producer: Producer) -> None:
    """Send EndTxn, and sometimes repeat it as if the answer had been lost."""
    rng, version = author.rng, author.version_of(producer, 26)
    committed = rng.random() < 0.6
    fields = {"transactional_id": author.named(producer), **author.holder(producer), "committed": committed}
    author.send(producer.name, 26, version, fields)
    if rng.random() < 0.15:
        again = {**fields, **author.holder(producer, 0), "committed": committed if rng.random() < 0.8 else not committed}
        if version >= 5 and rng.random() < 0.8:
            again["producer_epoch"] = told(producer.name, "producer_epoch", -1)
        author.send(producer.name, 26, version, again)


# -- records -----------------------------------------------------------------------------------------------------------


def _produce(author: TransactionsAuthor, producer: Producer) -> None:
    """Produce one or two batches, which are the next ones or contain typical errors."""
    rng, version = author.rng, author.version_of(producer, 0, 3)
    places = dict.fromkeys(_wanted(author, producer) for _ in range(rng.choice((1, 1, 1, 2))))
    batches = {place: _batch(author, producer, place) for place in places}
    named = author.named(producer) if producer.number is not None or rng.random() < 0.05 else None
    if rng.random() < 0.02:
        named = None
    topics: dict[int, list[Json]] = {}
    for (number, index), batch in batches.items():
        topics.setdefault(number, []).append({"index": index, "records": batch.expr})
    data = [
        {**({"topic_id": topic_id(number)} if version >= 13 else {"name": topic(number)}), "partition_data": rows}
        for number, rows in topics.items()
    ]
    answer = author.send(
        producer.name, 0, version, {"acks": rng.choice((-1, -1, -1, 1)), "transactional_id": named, "timeout_ms": 1000, "topic_data": data}
    )
    _note(author, producer, batches, answer)


def _wanted(author: TransactionsAuthor, producer: Producer) -> Place:
    """Return the partition to write to, for an old client mostly one that it has added to the transaction."""
    place = (1, 0)
    for _ in range(4):
        place = author.place()
        if producer.new or producer.number is None or author.is_added(producer, place) or author.rng.random() < 0.08:
            break
    return place


class Batch(NamedTuple):
    """A batch to be produced. `own` says that it has the producer's true id and epoch."""

    expr: Expr
    sequence: int
    records: list[str]
    own: bool


def _batch(author: TransactionsAuthor, producer: Producer, place: Place) -> Batch:
    rng, sequence = author.rng, producer.sequences.get(place, 0)
    records = [rng.choice("abcdef") for _ in range(rng.choice((1, 1, 2, 3)))]
    kind = rng.random()
    if kind < 0.08 and place in producer.last:
        sequence, records = producer.last[place]
    elif kind < 0.12:
        sequence += rng.choice((1, 2, 7))
    elif kind < 0.14:
        sequence = rng.choice((0, 2**31 - 1))
    holder = author.holder(producer)
    transactional = (producer.number is not None) != (rng.random() < 0.04)
    expr = written("transactional" if transactional else "sequenced", *holder.values(), sequence, *records)
    return Batch(expr, sequence, records, not any(isinstance(each, Ref) and each.offset for each in holder.values()))


def _note(author: TransactionsAuthor, producer: Producer, batches: dict[Place, Batch], answer: dict[str, Json] | None) -> None:
    """Update the producer's sequence numbers if all batches were accepted."""
    rows = [row for topic in (answer or {"responses": []})["responses"] for row in topic["partition_responses"]]
    if len(rows) == len(batches) and not any(row["error_code"] for row in rows):
        for place, batch in batches.items():
            if batch.own:
                author.wrote(producer, place, batch.sequence, batch.records)


# -- offsets -----------------------------------------------------------------------------------------------------------


def commit_offsets(author: TransactionsAuthor, producer: Producer) -> None:
    """Send TxnOffsetCommit, with or without the fields of a group member (KIP-447)."""
    rng, version = author.rng, author.version_of(producer, 28)
    known = author.transaction(producer)
    if version < 5 and rng.random() < 0.85 and known is not None and not any(at[0] == "__consumer_offsets" for at in known.partitions):
        add_offsets(author, producer)
    fields: dict[str, Json] = {
        "transactional_id": author.named(producer),
        "group_id": _group(author),
        **author.holder(producer),
        "topics": _offsets(author),
    }
    if rng.random() < 0.4:
        fields |= author.membership()
    if rng.random() < 0.08:
        fields |= rng.choice(
            ({"generation_id": 7}, {"member_id": "ghost"}, {"generation_id": 0, "member_id": ""}, {"group_instance_id": "i"})
        )
    author.send(producer.name, 28, version, fields)


def _offsets(author: TransactionsAuthor) -> list[Json]:
    rng = author.rng
    topics: dict[int, dict[int, Json]] = {}
    for _ in range(rng.choice((1, 1, 2, 3))):
        number, index = author.place()
        if rng.random() < 0.06:
            number, index = rng.choice(((number, 7), (len(author.script.topics) + 1, 0)))
        row = {"partition_index": index, "committed_offset": rng.randint(0, 20), "committed_metadata": rng.choice((None, "", "m"))}
        topics.setdefault(number, {})[index] = row
    return [{"name": topic(number), "topic_id": topic_id(number), "partitions": list(rows.values())} for number, rows in topics.items()]


def plain_commit(author: TransactionsAuthor) -> None:
    fields = {
        "group_id": _group(author), "generation_id_or_member_epoch": -1, "member_id": "",
        "topics": [
            {**topic, "partitions": [{**row, "committed_metadata": "p"} for row in topic["partitions"]]} for topic in _offsets(author)
        ],
    }  # fmt: skip
    version = min(author.version(8, 2), 9)
    author.send(ADMIN, 8, version, fields)


def fetch_offsets(author: TransactionsAuthor) -> None:
    """Send OffsetFetch, mostly with require_stable."""
    rng, version = author.rng, min(author.version(9, 1), 9)
    names = [
        {"name": topic(number), "partition_indexes": list(range(need.partitions))} for number, need in enumerate(author.script.topics, 1)
    ]
    topics: Json = names if version < 2 or rng.random() < 0.6 else None
    stable = rng.random() < 0.7
    if version >= 8:
        groups = [{"group_id": group(number), "topics": topics} for number in rng.choice(((1,), (1, 2), (2,)))]
        author.send(READER, 9, version, {"groups": groups, "require_stable": stable})
    else:
        author.send(READER, 9, version, {"group_id": group(rng.choice((1, 1, 2))), "topics": topics, "require_stable": stable})


def act_as_member(author: TransactionsAuthor) -> None:
    """Let a member of the first group join, sync, or leave."""
    rng, name = author.rng, author.member
    mine = author.player.memory.of(name)
    member = {"group_id": group(1), "generation_id": told(name, "generation"), "member_id": told(name, "member_id")}
    if author.waits(name):
        author.wait(JOIN_MS)
    elif not mine.member_id or rng.random() < 0.15:
        fields: dict[str, Json] = {
            "group_id": group(1), "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000,
            "member_id": told(name, "member_id"), "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": written("sub", topic(1))}],
        }  # fmt: skip
        author.send(name, 11, rng.choice((2, 3)), fields)
        if rng.random() < 0.8:
            author.wait(JOIN_MS)
    elif rng.random() < 0.75:
        author.send(name, 14, rng.choice((1, 2)), {**member, "assignments": written("led", name, name)})
    else:
        author.send(name, 13, rng.choice((1, 2)), {"group_id": group(1), "member_id": member["member_id"]})


# -- readers -----------------------------------------------------------------------------------------------------------


def _fetch(author: TransactionsAuthor) -> None:
    rng, version = author.rng, author.version(1, 4)
    places = dict.fromkeys(author.place() for _ in range(rng.choice((1, 1, 2))))
    topics: dict[int, list[Json]] = {}
    for place in places:
        offset = rng.choice((0, 0, rng.randint(0, author.end_of(place) + 1)))
        row = {"partition": place[1], "fetch_offset": offset, "partition_max_bytes": rng.choice((1 << 20, 1 << 20, 100))}
        topics.setdefault(place[0], []).append(row)
    fields = {
        "replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": rng.choice((0, 1, 1)),
        "topics": [{**_topic(number, version), "partitions": rows} for number, rows in topics.items()],
    }  # fmt: skip
    author.send(READER, 1, version, fields)


def _topic(number: int, version: int) -> dict[str, Json]:
    return {"topic_id": topic_id(number)} if version >= 13 else {"topic": topic(number)}


def _wait_for_marker(author: TransactionsAuthor) -> None:
    """Send a Fetch with isolation level 1 that waits at the end of a partition."""
    if author.waits(WAITER):
        return
    version, place = author.version(1, 4), author.place()
    row = {
        "partition": place[1],
        "fetch_offset": max(author.end_of(place) - author.rng.choice((0, 1, 2)), 0),
        "partition_max_bytes": 1 << 20,
    }
    fields = {
        "replica_id": -1, "max_wait_ms": WAIT_MS, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 1,
        "topics": [{**_topic(place[0], version), "partitions": [row]}],
    }  # fmt: skip
    author.send(WAITER, 1, version, fields)


def _list_offsets(author: TransactionsAuthor) -> None:
    rng, version = author.rng, author.version(2, 1)
    number, index = author.place()
    times = (-1, -1, -1, -2, 0, *((-3,) if version >= 7 else ()))
    topics = [{"name": topic(number), "partitions": [{"partition_index": index, "timestamp": rng.choice(times)}]}]
    author.send(READER, 2, version, {"replica_id": -1, "isolation_level": rng.choice((0, 1, 1)), "topics": topics})


# -- administrators ----------------------------------------------------------------------------------------------------


def admin(author: TransactionsAuthor) -> None:
    """Send DescribeTransactions or ListTransactions at random."""
    rng = author.rng
    if rng.random() < 0.5:
        names = [rng.choice((transactional_id(1), transactional_id(2), transactional_id(NOBODY), "")) for _ in range(rng.randint(1, 3))]
        author.send(ADMIN, 65, author.version(65), {"transactional_ids": names})
        return
    fields: dict[str, Json] = {"state_filters": rng.sample(STATES, rng.choice((0, 0, 1, 2, 4)))}
    clients = [each.name for each in author.producers if each.holder is not None and each.number is not None]
    if clients and rng.random() < 0.4:
        fields["producer_id_filters"] = [told(name, "producer_id") for name in rng.sample(clients, 1)]
    if rng.random() < 0.3:
        fields["duration_filter"] = rng.choice((-1, 10_000_000, 2**60))
    if rng.random() < 0.4:
        fields["transactional_id_pattern"] = rng.choice((".*x1", "", ".*-x[23]", "x1", "("))
    author.send(ADMIN, 66, author.version(66), fields)


def _describe_producers(author: TransactionsAuthor) -> None:
    indexes = author.rng.choice(([0], [0, 1], [7]))
    number = author.rng.randint(1, len(author.script.topics))
    author.send(ADMIN, 61, author.version(61), {"topics": [{"name": topic(number), "partition_indexes": indexes}]})


def _delete_records(author: TransactionsAuthor) -> None:
    place = author.place()
    offset = author.rng.choice((-1, author.rng.randint(0, author.end_of(place) + 1)))
    topics = [{"name": topic(place[0]), "partitions": [{"partition_index": place[1], "offset": offset}]}]
    author.send(ADMIN, 21, author.version(21), {"timeout_ms": 5000, "topics": topics})


def delete_group_or_offsets(author: TransactionsAuthor) -> None:
    """Delete or describe a group, or delete its offsets."""
    rng = author.rng
    kind, name = rng.random(), group(rng.choice((1, 1, 2)))
    if kind < 0.35:
        author.send(ADMIN, 42, author.version(42), {"groups_names": [name]})
    elif kind < 0.7:
        number, index = author.place()
        topics = [{"name": topic(number), "partitions": [{"partition_index": index}]}]
        author.send(ADMIN, 47, author.version(47), {"group_id": name, "topics": topics})
    else:
        author.send(ADMIN, 15, min(author.version(15), 5), {"groups": [name]})


def _write_marker(author: TransactionsAuthor) -> None:
    """Send WriteTxnMarkers, although the client is no coordinator."""
    known = [each for each in author.producers if each.holder is not None]
    if not known:
        return
    rng, producer = author.rng, author.rng.choice(known)
    number, index = author.place()
    marker = {
        **author.holder(producer, 0), "transaction_result": rng.random() < 0.5, "coordinator_epoch": 0,
        "topics": [{"name": topic(number), "partition_indexes": [index if rng.random() < 0.9 else 8]}],
    }  # fmt: skip
    author.send(ADMIN, 27, author.version(27), {"markers": [marker]})


def delete_topic(author: TransactionsAuthor) -> None:
    number = author.rng.randint(1, len(author.script.topics))
    author.send(ADMIN, 20, min(author.version(20, 1), 5), {"topic_names": [topic(number)], "timeout_ms": 5000})
    author.wait(SETTLING_MS)


def _plain_produce(author: TransactionsAuthor) -> None:
    """Produce records outside of a transaction, which readers of committed records get only after open transactions."""
    (number, index), version = author.place(), min(author.version(0, 3), 9)
    data = [{"name": topic(number), "partition_data": [{"index": index, "records": written("records", "x")}]}]
    author.send(READER, 0, version, {"acks": -1, "timeout_ms": 1000, "topic_data": data})


def disturb(act: Callable[[TransactionsAuthor, Producer], None]) -> Callable[[TransactionsAuthor], None]:
    """Return an action that lets a random producer act although the situation does not call for it."""

    def disturbed(author: TransactionsAuthor) -> None:
        known = [each for each in author.producers if each.holder is not None and each.number is not None]
        if known:
            act(author, author.rng.choice(known))

    return disturbed


def pause_for_timeouts(author: TransactionsAuthor) -> None:
    """Pause so that transactions may time out, if any has a short timeout."""
    if any(each.timeout_ms < LONG_MS for each in author.producers):
        author.wait(author.rng.choice((200, 400, 800)))


Act = Callable[[TransactionsAuthor], Any]
ACTS: Final[dict[Act, int]] = {
    _fetch: 22,
    _wait_for_marker: 4,
    _list_offsets: 9,
    fetch_offsets: 16,
    act_as_member: 8,
    plain_commit: 5,
    _plain_produce: 5,
    admin: 8,
    _describe_producers: 6,
    _delete_records: 4,
    delete_group_or_offsets: 4,
    _write_marker: 2,
    delete_topic: 1,
    pause_for_timeouts: 8,
    disturb(init_producer): 8,
    disturb(_add_partitions): 5,
    disturb(add_offsets): 4,
    disturb(end_transaction): 8,
    disturb(_produce): 6,
    disturb(commit_offsets): 4,
}
"""Maps each further action of the transactions family to its weight."""
