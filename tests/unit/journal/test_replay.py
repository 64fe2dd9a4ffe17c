"""A journal of stock clients on real sockets in real time replays to the same journal."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import aiokafka
import confluent_kafka
import pytest
from cases import for_each

from groupmock import Broker
from groupmock.journal.read import NotAJournal, read
from groupmock.journal.rows import MemberRow, MovedRow, ReplyRow
from groupmock.rig.replay import CannotReplay, replay
from groupmock.rig.wire import AsyncClient, Client
from groupmock_codec import APIS, extras
from groupmock_codec.api_keys import (
    CONSUMER_GROUP_HEARTBEAT,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_HEARTBEAT,
)
from groupmock_codec.embedded.consumer import Subscription, encode_subscription
from groupmock_codec.extras import pip_install
from groupmock_codec.messages import k88_streams_group_heartbeat as k88
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol


async def consume(broker: Broker) -> None:
    """Run two members and a producer; one member leaves, one disconnects during a join, offsets are committed, and topics change."""
    async with asyncio.timeout(60):
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for number in range(20):
                await producer.send_and_wait("orders", b"%d" % number * 300, partition=number % 4)
        common = {"bootstrap_servers": broker.bootstrap, "group_id": "g", "auto_offset_reset": "earliest", "heartbeat_interval_ms": 100}
        first, second = (aiokafka.AIOKafkaConsumer("orders", **common) for _ in range(2))
        await asyncio.gather(first.start(), second.start())
        got = 0
        while got < 20:
            for consumer in (first, second):
                got += sum(map(len, (await consumer.getmany(timeout_ms=50)).values()))
        await second.stop()
        hang_up_in_a_join(broker)
        await first.getmany(timeout_ms=400)
        await first.stop()


def hang_up_in_a_join(broker: Broker) -> None:
    """Connect a third member whose process dies while its JoinGroup is parked."""
    metadata = encode_subscription(Subscription(version=0, topics=["orders"]))
    message = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=200,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="roundrobin", metadata=metadata)],
    )
    host, port = broker.bootstrap.split(":")
    with Client(host, int(port), "third") as peer:
        peer.send(11, 0, message)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "run.jsonl"
    with Broker(topics={"orders": 4}, seed=5, journal=str(path), group_min_session_timeout_ms=100) as broker:
        asyncio.run(consume(broker))
        broker.create_topic("late", 2)
        broker.produce("late", b"by hand", key=b"k")
        broker.client_says("third", "gave up", offset=3)
        broker.delete_topic("orders")
    return path


def changed(recorded: Path, tmp_path: Path, change) -> Path:
    """Return the path of a copy of the journal with one row changed."""
    lines = recorded.read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    change(rows)
    (tmp_path / "changed").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "changed"


def test_the_same_rows_come_again(recorded):
    journal, rows = read(recorded)
    kinds = {row.__struct_config__.tag for row in rows}
    assert journal.header.complete and journal.ended
    assert kinds == {"open", "close", "request", "reply", "moved", "member", "timer", "command", "client", "note"}
    result = replay(recorded)
    assert result.difference is None, str(result.difference)
    assert (result.rows, result.cut) == (len(rows), False)


def consume_as_the_broker_says(broker: Broker) -> None:
    """Run two members of a consumer group (KIP-848); one is fenced and joins again, and both commit and leave."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "group.protocol": "consumer", "auto.offset.reset": "earliest"}
    members = [confluent_kafka.Consumer({**settings, "client.id": name}) for name in ("one", "two")]
    for place, member in enumerate(members):
        member.subscribe(["orders"])
        wanted = 4 // (place + 1)
        while any(len(each.assignment()) != wanted for each in members[: place + 1]):
            for each in members[: place + 1]:
                each.poll(0.05)
    broker.fence_member("g", "one")
    epoch = broker.groups["g"].generation
    while broker.groups["g"].state != "Stable" or any(len(each.assignment()) != 2 for each in members):
        for each in members:
            each.poll(0.05)
    assert epoch == 4
    for each in members:
        each.close()


def test_a_journal_of_a_consumer_group_of_stock_clients_replays(tmp_path):
    path = tmp_path / "run.jsonl"
    times = {"group.consumer.heartbeat.interval.ms": 50, "group.consumer.assignment.interval.ms": 0}
    with Broker(topics={"orders": 4}, seed=5, journal=str(path), settings=times) as broker:
        broker.produce("orders", b"coffee")
        consume_as_the_broker_says(broker)
    result = replay(path)
    assert result.difference is None, result
    _, rows = read(path)
    assert sum(isinstance(row, ReplyRow) and row.api_key == CONSUMER_GROUP_HEARTBEAT for row in rows) > 10


def work_in_a_share_group(broker: Broker) -> None:
    """Let a worker accept, release and reject records, lose the lock of one that comes again, and leave."""
    broker.configure_group("g", {"share.auto.offset.reset": "earliest"})
    for number in range(4):
        broker.produce("orders", b"%d" % number)
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "share.acknowledgement.mode": "explicit"}
    worker = confluent_kafka.ShareConsumer(settings)
    worker.subscribe(["orders"])
    kinds = confluent_kafka.AcknowledgeType
    done = 0
    while done < 4:
        messages = list(worker.poll(timeout=0.1))
        if any(message.delivery_count() == 2 for message in messages):
            broker.step(30)
        for message in messages:
            again = message.delivery_count() == 1 and message.offset() == 1
            done += not again
            worker.acknowledge(message, kinds.RELEASE if again else kinds.REJECT if message.offset() == 2 else kinds.ACCEPT)
        worker.commit_sync()
    worker.close()


def test_a_journal_of_a_share_group_of_a_stock_client_replays(tmp_path):
    path = tmp_path / "run.jsonl"
    times = {"group.share.heartbeat.interval.ms": 50, "group.share.assignment.interval.ms": 0}
    with Broker(topics={"orders": 1}, seed=5, journal=str(path), settings=times) as broker:
        work_in_a_share_group(broker)
    result = replay(path)
    assert result.difference is None, result
    _, rows = read(path)
    asked = {row.api_key for row in rows if isinstance(row, ReplyRow)}
    assert {SHARE_GROUP_HEARTBEAT, SHARE_FETCH, SHARE_ACKNOWLEDGE} <= asked


def run_a_streams_application(broker: Broker) -> None:
    """Let two threads of a Streams application join, get internal topics and tasks, and move tasks; one leaves, the other one expires."""
    host, port = broker.bootstrap.split(":")
    counts = k88.Subtopology(
        subtopology_id="0", source_topics=["orders"], state_changelog_topics=[k88.TopicInfo(name="counts")]
    )
    join = k88.StreamsGroupHeartbeatRequest(
        group_id="app",
        rebalance_timeout_ms=10_000,
        topology=k88.Topology(epoch=0, subtopologies=[counts]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    epochs = dict.fromkeys(("a", "b"), 0)
    owned: dict[str, list[k88.TaskIds]] = {"a": [], "b": []}
    with Client(host, int(port), "app") as threads:

        def beat(member: str) -> None:
            join.member_id = join.process_id = member
            later = k88.StreamsGroupHeartbeatRequest(
                group_id="app",
                member_id=member,
                member_epoch=epochs[member],
                active_tasks=owned[member],
                standby_tasks=[],
                warmup_tasks=[],
            )
            answer = threads.ask(STREAMS_GROUP_HEARTBEAT, 1, later if epochs[member] else join)
            assert answer.error_code == 0, answer
            epochs[member] = answer.member_epoch
            owned[member] = owned[member] if answer.active_tasks is None else answer.active_tasks

        while not owned["a"]:  # The server creates the internal topic in the background, and then a heartbeat is answered with tasks.
            beat("a")
        for member in "bababaab":
            beat(member)
        assert all(owned.values()), owned
        threads.ask(STREAMS_GROUP_HEARTBEAT, 1, k88.StreamsGroupHeartbeatRequest(group_id="app", member_id="a", member_epoch=-1))
    broker.expire("app", "b")


def test_a_journal_of_a_streams_group_replays(tmp_path):
    path = tmp_path / "run.jsonl"
    times = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
    with Broker(topics={"orders": 4}, seed=5, journal=str(path), settings=times) as broker:
        run_a_streams_application(broker)
    result = replay(path)
    assert result.difference is None, result
    _, rows = read(path)
    causes = {row.cause for row in rows if isinstance(row, MemberRow | MovedRow)}
    assert {"member_joined", "must_revoke", "reconciled", "member_left", "session_expired", "topics_changed"} <= causes


def test_a_journal_that_was_cut_replays_as_far_as_it_goes(recorded, tmp_path):
    (tmp_path / "cut").write_bytes(recorded.read_bytes()[:-30])
    result = replay(tmp_path / "cut")
    assert (result.difference, result.cut) == (None, True)


def test_another_seed_gives_another_journal(recorded, tmp_path):
    result = replay(changed(recorded, tmp_path, lambda rows: rows[0].update(seed=6)))
    assert result.difference is not None and result.difference.seq < 5


def test_another_setting_gives_another_journal(recorded, tmp_path):
    def smaller(rows):
        rows[0]["cluster"]["settings"]["group_initial_rebalance_delay_ms"] = 3000

    assert replay(changed(recorded, tmp_path, smaller)).difference is not None


def test_a_changed_row_is_named_with_its_field(recorded, tmp_path):
    def lie(rows):
        moved = next(row for row in rows if row.get("kind") == "moved" and row["after"] == "Stable")
        moved["generation"] = 77
        lie.seq = moved["seq"]

    difference = replay(changed(recorded, tmp_path, lie)).difference
    assert difference is not None and difference.seq == lie.seq
    assert str(difference).startswith(f"row {lie.seq} (moved) differs: generation: was 77, is ")


def test_a_journal_from_before_there_were_causes_replays_without_them(recorded, tmp_path):
    def age(rows):
        age.taken = [row.pop("cause") for row in rows if row.get("kind") in ("moved", "member")]

    assert replay(changed(recorded, tmp_path, age)).difference is None
    assert "member_joined" in age.taken


def test_a_journal_from_before_errors_had_their_paths_replays_without_them(recorded, tmp_path):
    """Older journals have no separate field for errors inside an answer."""

    def age(rows):
        age.taken = [row.pop("errors") for row in rows if "errors" in row]
        for row in rows:
            if row.get("kind") == "reply" and not row["message"].get("error_code"):
                row.pop("error", None)

    assert replay(changed(recorded, tmp_path, age)).difference is None
    assert age.taken


def test_another_error_is_a_difference(recorded, tmp_path):
    def lie(rows):
        next(row for row in rows if "errors" in row)["errors"][0]["error"] = "NONE"

    assert "errors[0].error: was 'NONE', is " in str(replay(changed(recorded, tmp_path, lie)).difference)


def test_another_cause_is_a_difference(recorded, tmp_path):
    def lie(rows):
        next(row for row in rows if row.get("kind") == "moved" and row["after"] == "Stable")["cause"] = "forced"

    assert "cause: was 'forced', is 'leader_assigned'" in str(replay(changed(recorded, tmp_path, lie)).difference)


def test_a_missing_input_is_noticed(recorded, tmp_path):
    def forget(rows):
        rows.remove(next(row for row in rows if row.get("kind") == "request" and row["api_name"] == "SyncGroup"))

    assert replay(changed(recorded, tmp_path, forget)).difference is not None


def test_a_reply_that_never_came_is_noticed(recorded, tmp_path):
    def invent(rows):
        reply = next(row for row in rows if row.get("kind") == "reply" and row["api_name"] == "Heartbeat")
        rows.append({**reply, "seq": rows[-1]["seq"] + 1, "t": rows[-1]["t"]})

    result = replay(changed(recorded, tmp_path, invent))
    assert result.difference is not None and result.difference.got is None
    assert str(result.difference).endswith("did not come again")


def test_where_records_were_opened_the_library_is_needed_again(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "LIBRARY", "no_such_library")
    with pytest.raises(CannotReplay, match=re.escape(f"needs no_such_library: {pip_install('compression')}")):
        replay(recorded)


@for_each(
    ("change", "why"),
    [
        (lambda rows: rows[0].update(complete=False, incomplete_because="frames are not kept"), "frames are not kept"),
        (lambda rows: rows[0].pop("cluster"), "what the cluster was made of"),
        (lambda rows: rows[0]["cluster"]["settings"].update(group_max_size="many"), "cannot be made again"),
        (lambda rows: rows.insert(3, {"kind": "open"}), "line 4 is no row"),
        (lambda rows: rows.insert(3, {"kind": "dream", "seq": 3, "t": 5}), "does not know: dream"),
    ],
    ids=["incomplete", "no cluster", "unreadable cluster", "broken row", "unknown kind"],
)
def test_what_cannot_be_replayed_is_refused_with_the_reason(recorded, tmp_path, change, why):
    with pytest.raises(CannotReplay, match=why):
        replay(changed(recorded, tmp_path, change))


def test_what_is_no_journal_is_refused_too(tmp_path):
    (tmp_path / "x").write_text("hello\n")
    with pytest.raises(NotAJournal):
        replay(tmp_path / "x")


def test_answers_that_were_sent_in_slices_come_again_in_theirs(tmp_path):
    path = tmp_path / "sliced.jsonl"
    with Broker(seed=5, journal=str(path), settings={"groupmock.replies.slice.us": 1}) as broker:
        asyncio.run(many_members(broker, 60))
    _, rows = read(path)
    joins = [row for row in rows if isinstance(row, ReplyRow) and row.api_name == "JoinGroup"]
    assert len(joins) == 60 and len({row.t for row in joins}) > 3, "they went out at different times"
    result = replay(path)
    assert result.difference is None, str(result.difference)


async def many_members(broker: Broker, count: int) -> None:
    """Let all members join at once and sync; some send heartbeats, one leaves, and the others are notified."""
    host, port = broker.bootstrap.split(":")
    peers = [await asyncio.open_connection(host, int(port)) for _ in range(count)]
    join = JoinGroupRequest(group_id="g", session_timeout_ms=10_000, protocol_type="x", protocols=[JoinGroupRequestProtocol(name="p")])
    joined = await asyncio.gather(*(ask(peer, 11, 0, join) for peer in peers))
    sync = APIS[14].request.message
    await asyncio.gather(
        *(ask(peer, 14, 0, sync(group_id="g", generation_id=1, member_id=one.member_id)) for peer, one in zip(peers, joined, strict=True))
    )
    beat = APIS[12].request.message(group_id="g", generation_id=1, member_id=joined[0].member_id)
    for _ in range(5):
        assert (await ask(peers[0], 12, 0, beat)).error_code == 0
    await ask(peers[1], 13, 0, APIS[13].request.message(group_id="g", member_id=joined[1].member_id))
    assert (await ask(peers[0], 12, 0, beat)).error_code == 27
    for _, writer in peers:
        writer.close()
        await writer.wait_closed()


async def ask(peer, key: int, version: int, message):
    reader, writer = peer
    return await AsyncClient(reader, writer, "many").ask(key, version, message)
