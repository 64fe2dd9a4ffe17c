"""Topologies are configured as Apache Kafka's own code does it (ST-60 to ST-69): named cases, and random ones that 4.4.0 decided about."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each

from groupmock.core.groups.refused import Refused
from groupmock.core.groups.streams.topology import Configured, NewTopic, configure, required_topics, source_topics_of
from groupmock_codec import APIS, error_codes
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.messages.k88_streams_group_heartbeat import CopartitionGroup, KeyValue, Subtopology, TopicInfo, Topology

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "streams_topologies.jsonl.gz"
RECORDED: Final[list[dict[str, Any]]] = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
TOPIC_ID: Final = bytes(16)


def configured(*subtopologies: Subtopology, **topics: int) -> Configured:
    return configure(Topology(0, list(subtopologies)), {name: (TOPIC_ID, partitions) for name, partitions in topics.items()})


def told(found: Configured) -> dict[str, Any]:
    missing = [[name, each.partitions, each.replication_factor or -1, each.configs] for name, each in found.missing.items()]
    return {"status": found.status and [*found.status], "tasks": found.tasks, "internal": found.internal, "missing": missing}


def counting(*repartition: TopicInfo, sources: tuple[str, ...] = ()) -> Subtopology:
    """Return a subtopology that reads repartition topics and keeps counts."""
    return Subtopology("1", list(sources), [], [TopicInfo("counts")], [], list(repartition))


def test_the_recorded_topologies_are_complete() -> None:
    statuses = {(row["answer"].get("status") or [0])[0] for row in RECORDED}
    assert (len(RECORDED), statuses) == (378, {0, 1, 2, 3})


@for_each("row", RECORDED, ids=range(len(RECORDED)))
def test_topologies_are_configured_as_kafka_configured_them(row: dict[str, Any]) -> None:
    heartbeat = APIS[STREAMS_GROUP_HEARTBEAT].request.decode(0, base64.b64decode(row["heartbeat"]))
    answer = row["answer"]
    try:
        found = told(configure(heartbeat.topology, {name: (TOPIC_ID, count) for name, count in row["topics"].items()}))
    except Refused as refused:
        assert answer == {"refused": refused.text} if refused.code == error_codes.STREAMS_INVALID_TOPOLOGY else "thrown" in answer
    else:
        assert found == answer


def test_a_stateful_topology_is_ready_once_its_internal_topics_exist() -> None:
    reading = Subtopology("0", ["words"], [], [], ["by-word"])
    counts = counting(TopicInfo("by-word", 0, 3, [KeyValue("cleanup.policy", "delete")]))
    before = configured(reading, counts, words=4)
    assert before.status == (3, "Internal topics are missing: counts, by-word")
    assert before.missing == {"counts": NewTopic(4, 0, {}), "by-word": NewTopic(4, 3, {"cleanup.policy": "delete"})}
    assert before.tasks == before.internal == {}, "nobody has tasks while topics are missing"
    after = configured(reading, counts, words=4, counts=4, **{"by-word": 4})
    assert after == Configured(None, {"0": 4, "1": 4}, frozenset({"1"}), {"by-word": 4, "counts": 4})


@for_each(
    "subtopologies, topics, code, text",
    [
        ([Subtopology("0", ["d", "c", "b", "a"])], {}, 1, "Source topics a, b, c and 1 additional topics are missing."),
        ([Subtopology("0", ["b", "a"])], {"b": 1}, 1, "Source topics a are missing."),
        (
            [Subtopology("0", ["b", "a"], copartition_groups=[CopartitionGroup([0, 1])])],
            {"a": 3, "b": 4},
            2,
            "Following topics do not have the same number of partitions: [{a=3, b=4}]",
        ),
        (
            [
                Subtopology("0", ["a"], [], [], ["r"]),
                Subtopology("1", ["a"], [], [], [], [TopicInfo("r", 5)], [CopartitionGroup([0], [], [0])]),
            ],
            {"a": 3},
            2,
            "Number of partitions [5] of repartition topic [r] doesn't match number of partitions [3] of the source topic.",
        ),
        (
            [counting(sources=("a",))],
            {"a": 3, "counts": 2},
            2,
            "Existing topic counts has different number of partitions: expected 3, found 2",
        ),
    ],
    ids=("four sources", "one source", "sources", "given", "existing"),
)
def test_topics_that_do_not_fit_are_named_in_the_status(
    subtopologies: list[Subtopology], topics: dict[str, int], code: int, text: str
) -> None:
    assert configured(*subtopologies, **topics) == Configured((code, text))


@pytest.mark.parametrize(
    "subtopologies, text",
    [
        ([counting(TopicInfo("r"), sources=("a",))], "because a repartition source topic is never used as a sink topic."),
        ([Subtopology("0", [], [], [], ["r"], [TopicInfo("r")])], "There may be loops in the topology that cannot be resolved."),
        ([Subtopology("0")], "No source topics found for subtopology 0"),
    ],
    ids=("never written", "loop", "no sources"),
)
def test_invalid_topologies_are_refused(subtopologies: list[Subtopology], text: str) -> None:
    with pytest.raises(Refused) as refused:
        configured(*subtopologies, a=1)
    assert refused.value.code == error_codes.STREAMS_INVALID_TOPOLOGY
    assert refused.value.text.endswith(text)


def test_a_topology_without_subtopologies_is_ready() -> None:
    assert configured() == Configured(None)


def test_required_topics_are_sources_repartition_topics_and_changelogs() -> None:
    topology = Topology(0, [Subtopology("0", ["words"], [], [], ["by-word"]), counting(TopicInfo("by-word"))])
    assert required_topics(topology) == {"words", "by-word", "counts"}
    assert source_topics_of(topology) == {"0": {"words"}, "1": {"by-word"}}
