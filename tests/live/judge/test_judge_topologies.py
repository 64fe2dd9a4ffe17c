"""Kafka's own code configures random topologies of streams groups, and groupmock must decide the same."""

from __future__ import annotations

import base64
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

from groupmock.core.groups.refused import Refused
from groupmock.core.groups.streams.topology import Configured, configure
from groupmock_codec import APIS, error_codes
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.messages.k88_streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
)

from .oracle import ask

PROGRAM: Final = Path(__file__).with_name("KafkaTopologies.java")
SEED: Final = int(os.environ.get("GROUPMOCK_JUDGE_SEED", "1"))
TOPOLOGIES: Final = int(os.environ.get("GROUPMOCK_JUDGE_TOPOLOGIES", "10000"))


def name_of(dice: random.Random, kind: str, number: int) -> str:
    """Return a name that is short, or has the same hash as others."""
    return kind + dice.choice((f"{number}", f"{number}", "".join(dice.choice(("Aa", "BB")) for _ in range(5))))


class DrawnTopology:
    """A random topology with the topics of its cluster. Most of its topics fit, so that errors are not always the first possible."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.external = [name_of(dice, "s", number) for number in range(dice.randint(1, 5))]
        self.repartition = [name_of(dice, "r", number) for number in range(dice.choice((0, 1, 2, 3, 6)))]
        self.changelogs = [name_of(dice, "c", number) for number in range(dice.choice((0, 1, 2, 5, 14)))]
        alike = dice.random() < 0.6
        common = dice.choice((1, 2, 3, 4))
        self.topics = {name: common if alike else dice.choice((1, 2, 3, 4)) for name in self.external if dice.random() < 0.98}
        for name in self.repartition + self.changelogs:
            if dice.random() < 0.3:
                self.topics[name] = common if dice.random() < 0.8 else dice.choice((1, 2, 3))
        self.given = {name: dice.choice((0, 0, 0, 0, common, common, dice.choice((-1, 1, 2, 5)))) for name in self.repartition}
        names = dict.fromkeys(name_of(dice, "", number) for number in range(dice.choice((0, 1, 2, 3, 5, 20))))
        self.subtopologies = [self.subtopology(name) for name in names]
        if dice.random() < 0.7:
            self.complete()
        if self.subtopologies and dice.random() < 0.01:
            self.subtopologies.append(self.subtopology(self.subtopologies[0].subtopology_id))

    def some(self, names: list[str], at_least: int = 0) -> list[str]:
        return self.dice.sample(names, min(len(names), self.dice.choice((at_least, 1, 1, 2, 3))))

    def info(self, name: str, partitions: int) -> TopicInfo:
        dice = self.dice
        configs = [KeyValue(key, dice.choice("ab")) for key in dice.sample(["x", "y", "z"], dice.randint(0, 2))]
        if dice.random() < 0.002:
            configs += configs[:1]
        return TopicInfo(name, partitions, dice.choice((0, 1, 3)), configs)

    def subtopology(self, name: str) -> Subtopology:
        dice = self.dice
        found = Subtopology(name, self.some(self.external))
        reads, changelogs = self.some(self.repartition), self.some(self.changelogs)
        if dice.random() < 0.01:
            reads += reads[:1]
            changelogs += changelogs[:1]
        found.repartition_source_topics = [self.info(each, self.given[each] if dice.random() < 0.97 else 2) for each in reads]
        found.state_changelog_topics = [self.info(each, 0) for each in changelogs]
        found.repartition_sink_topics = self.some(self.repartition)
        for _ in range(dice.choice((0, 0, 1, 2))):
            sources, repartition = len(found.source_topics), len(reads)
            most = 1 if dice.random() < 0.005 else 0
            group = CopartitionGroup(
                [dice.randrange(sources) for _ in range(dice.randint(0, 2)) if sources],
                [],
                [dice.randrange(repartition + most) for _ in range(dice.randint(0, 3)) if repartition],
            )
            found.copartition_groups = [*found.copartition_groups, group]
        return found

    def complete(self) -> None:
        """Give each subtopology a source and each repartition topic a writer, as applications do."""
        written = {topic for each in self.subtopologies for topic in each.repartition_sink_topics}
        for each in self.subtopologies:
            if not each.source_topics and not each.repartition_source_topics:
                each.source_topics = [self.external[0]]
        if self.subtopologies:
            first = self.subtopologies[0]
            first.repartition_sink_topics = [*first.repartition_sink_topics, *(each for each in self.repartition if each not in written)]

    def question(self) -> dict[str, Any]:
        heartbeat = StreamsGroupHeartbeatRequest(group_id="group", member_id="member", topology=Topology(0, self.subtopologies))
        raw = APIS[STREAMS_GROUP_HEARTBEAT].request.encode(0, heartbeat)
        return {"heartbeat": base64.b64encode(raw).decode(), "topics": self.topics}

    def answer(self) -> dict[str, Any]:
        try:
            found = configure(Topology(0, self.subtopologies), {name: (bytes(16), count) for name, count in self.topics.items()})
        except Refused as refused:
            return {"refused": refused.text} if refused.code == error_codes.STREAMS_INVALID_TOPOLOGY else {"thrown": ""}
        return told(found)


def told(found: Configured) -> dict[str, Any]:
    status = None if found.status is None else [*found.status]
    missing = [[name, each.partitions, each.replication_factor or -1, each.configs] for name, each in found.missing.items()]
    return {"status": status, "tasks": found.tasks, "internal": found.internal, "missing": missing}


def kind(answer: dict[str, Any]) -> str:
    """Return a name for the kind of an answer, so that the test shows that it met all kinds."""
    status = answer.get("status")
    return str(answer.get("refused", "thrown" if "thrown" in answer else "ready" if status is None else f"status {status[0]}"))[:40]


def test_topologies_of_streams_groups_are_configured_as_kafka_does(streams_release: str) -> None:
    dice = random.Random(SEED)
    drawn = [DrawnTopology(dice) for _ in range(TOPOLOGIES)]
    answers = ask(streams_release, [each.question() for each in drawn], PROGRAM)
    wrong, kinds = [], Counter[str]()
    for number, (topology, theirs) in enumerate(zip(drawn, answers, strict=True)):
        ours = topology.answer()
        kinds[kind(ours)] += 1
        if ours != (theirs if "thrown" not in theirs else {"thrown": ""}):
            wrong.append(f"seed {SEED}, topology {number} ({topology.subtopologies} with {topology.topics}): Kafka {theirs}, ours {ours}")
    print(f"seed {SEED}: {len(drawn)} topologies, {dict(kinds)}")
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0][:3000]}"
