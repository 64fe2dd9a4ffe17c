"""Play generated requests of a principal under generated ACLs on Apache Kafka and on the core, and print every answer that differs.

    python -m tools.rights --release 4.4 --seeds 0 10 --exchanges 33 --save

starts Apache Kafka (java and mvn are needed) with a SASL listener and its StandardAuthorizer. An exchange is a set of rules that is drawn
for the principal, and six requests. What differs by chance from broker to broker (ids, orders by ids, addresses, dumps in texts) is not
compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from random import Random
from typing import Any, Final

import msgspec

from groupmock.config.advertise import advertised
from groupmock.config.resolve import resolve
from groupmock.rig import CoreRig
from groupmock_codec import APIS
from groupmock_codec.response_errors import error_codes
from tools.fidelity.generated.settings_classes import BROKERS
from tools.records import RECORDS

from .broker import Broker, secured_kafka
from .requests import BATCH, SHARE_GROUP, Drawer, Drawn, made
from .rules import draw_rules, rules_of

STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SETTINGS: Final = {
    "authorizer.class.name": STANDARD,
    "super.users": "User:admin;User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
}
IN_AN_EXCHANGE: Final = 6
"""The number of requests before the principal's rules change."""
DENIALS: Final = frozenset((29, 30, 31, 53))
FILE: Final = RECORDS / "rights.jsonl"


class RightsRun(msgspec.Struct):
    """A recorded run: requests under generated rules, the answers that refused something for a missing right, and those that differed."""

    broker: str
    seeds: tuple[int, int]
    exchanges: int
    requests: int
    refused: int
    different: int
    seconds: float
    apis: dict[str, int]


EVERYTHING: Final = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None, "host_filter": None,
    "operation": 1, "permission_type": 1,
}  # fmt: skip
BY_CHANCE: Final = frozenset(
    ("cluster_id", "host", "port", "node_id", "controller_id", "brokers", "replica_nodes", "isr_nodes", "leader_id", "leader", "timestamp",
     "configs", "producer_id", "producer_epoch", "node_endpoints", "throttle_time_ms", "unknown_tags", "last_timestamp")
)  # fmt: skip
"""Fields that are not compared."""
BATCHES_SINCE: Final = 4
"""Before this version of Fetch, records are converted to message sets, which Kafka fills up with bytes that clients leave out."""
IN_ANY_ORDER: Final = {0: "responses", 3: "topics", 20: "responses", 78: "responses", 79: "responses"}
"""Lists whose order depends on topic ids, or that Kafka shuffles."""
INSIDE_IN_ANY_ORDER: Final = {
    0: ("responses", "partition_responses"),
    78: ("responses", "partitions"),
    79: ("responses", "partitions"),
    90: ("groups", "topics"),
}
"""The same, of lists inside the elements of a list."""


class Core:
    """The core with the same settings as the broker, asked like it."""

    def __init__(self, release: str) -> None:
        self.rig = CoreRig.make(profile=f"kafka-{release}", settings=SETTINGS)

    def ask(self, user: str, key: int, version: int, message: Any) -> Any:
        ask = self.rig.send(key, version, message, principal=f"User:{user}")
        for wait in (0, 1000):
            if ask.answer is None:
                self.rig.sleep(wait)
        return ask.answer if ask.answer is not None else ask.status


class Comparison:
    """A seed gives the same topics, groups, rules and requests at the broker and in the core."""

    def __init__(self, broker: Broker, release: str, seed: int) -> None:
        self.rng = Random(f"rights {release} {seed}")
        self.broker, self.core = broker, Core(release)
        versions = {row.key: (row.lowest, row.highest) for row in advertised(resolve({"profile": f"kafka-{release}"}, []).profile)}
        self.draw = Drawer(self.rng, f"r{time.time_ns() // 10**6 % 10**8}-{seed}-", versions)
        self.ids: tuple[dict[str, bytes], dict[str, bytes]] = ({}, {})
        self.played: Counter[str] = Counter()
        self.refused = 0
        self.different: list[str] = []

    def both(self, key: int, version: int, fields: dict[str, Any], user: str = "admin") -> tuple[Any, Any]:
        drawn = Drawn(key, version, fields)
        asked = [drawn.message(ids) for ids in self.ids]
        return self.broker.ask(user, key, version, asked[0]), self.core.ask(user, key, version, asked[1])

    def prepare(self) -> None:
        """Make the topics with a record each, and commit an offset of each in the groups. Raises AssertionError if that fails."""
        draw = self.draw
        # The group without a name is the only one that seeds share: an earlier one may have committed offsets to it.
        self.both(42, 1, {"groups_names": [""]})
        # The records are of 2023, and Kafka would delete them by their age while the seed is played.
        kept = [{"name": "retention.ms", "value": "-1"}]
        topics = [{"name": name, "num_partitions": 2, "replication_factor": 1, "configs": kept} for name in draw.topics]
        for ids, answer in zip(self.ids, self.both(19, 7, {"topics": topics, "timeout_ms": 9000}), strict=True):
            ids.update({topic.name: topic.topic_id for topic in answer.topics})
        for name in draw.topics:
            record = [{"name": name, "partition_data": [{"index": 0, "records": BATCH}]}]
            self._until_fine(0, 9, {"acks": 1, "timeout_ms": 900, "topic_data": record})
        rows = [{"name": name, "partitions": [{"partition_index": 0, "committed_offset": 1}]} for name in draw.topics]
        for group in draw.groups[:3]:
            self.both(10, 0, {"key": group})
            self._until_fine(8, 7, {"group_id": group, "topics": rows})
        if 76 in draw.versions:
            member = {"group_id": draw.stem + SHARE_GROUP, "member_id": "1b4e28ba-2fa1-11d2-883f-0016d3cca427"}
            self._until_fine(76, 1, {**member, "member_epoch": 0, "subscribed_topic_names": draw.absent[:1]})
            self._until_fine(76, 1, {**member, "member_epoch": -1})
        for name in draw.transactional_ids:
            self.both(10, 1, {"key": name, "key_type": 1})
            self._until_fine(22, 4, {"transactional_id": name, "transaction_timeout_ms": 60_000})

    def _until_fine(self, key: int, version: int, fields: dict[str, Any]) -> None:
        """Repeat a request at the broker until it has no error, because a new topic or coordinator takes a moment, and then do it once in
        the core."""
        drawn, end = Drawn(key, version, fields), time.monotonic() + 20
        while True:
            answer = self.broker.ask("admin", key, version, drawn.message(self.ids[0]))
            errors = error_codes(APIS[key].response.message, version).first(answer)
            if not errors:
                break
            assert time.monotonic() < end, f"{APIS[key].name} still fails: {answer}"
            time.sleep(0.05)
        self.core.ask("admin", key, version, drawn.message(self.ids[1]))

    def change_rules(self) -> None:
        """Replace all rules by new ones, and wait until the broker has applied them."""
        self.both(31, 3, {"filters": [EVERYTHING]})
        rules = draw_rules(self.rng, self.draw)
        self.both(30, 3, {"creations": rules})
        end, wanted = time.monotonic() + 20, {tuple(rule.values()) for rule in rules}
        while rules_of(self.broker.ask("admin", 29, 3, made(APIS[29].request.message, EVERYTHING))) != wanted:
            assert time.monotonic() < end, "the broker does not apply the rules"
            time.sleep(0.01)
        self.rules = rules

    def step(self) -> None:
        drawn = self.draw.request()
        real, core = self.both(drawn.key, drawn.version, drawn.fields, "alice")
        self.played[APIS[drawn.key].name] += 1
        if not isinstance(real, str):
            self.refused += any(code in DENIALS for _, code in error_codes(APIS[drawn.key].response.message, drawn.version).each(real))
        found, expected = (
            comparable(drawn.key, drawn.version, answer, ids) for answer, ids in zip((core, real), self.ids[::-1], strict=True)
        )
        if found != expected:
            told = f"{APIS[drawn.key].name} v{drawn.version} {drawn.fields}\n  Kafka: {expected}\n  core:  {found}\n  rules: {self.rules}"
            self.different.append(told)


def comparable(key: int, version: int, answer: Any, ids: dict[str, bytes]) -> Any:
    """Return an answer as plain values, with names in the place of topic ids, without what differs by chance."""
    names = {topic_id: name for name, topic_id in ids.items()}

    def plain(value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__ if name not in BY_CHANCE}
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, str) and value.endswith((" permission.", " is not authorized.")):
            return "a dump of the request"
        return names.get(value, value) if isinstance(value, bytes) else value

    found = plain(answer)
    if isinstance(found, dict) and key in IN_ANY_ORDER:
        found[IN_ANY_ORDER[key]].sort(key=str)
    if isinstance(found, dict) and key == 1 and version < BATCHES_SINCE:
        for row in (row for topic in found["responses"] for row in topic["partitions"]):
            row["records"] = bool(row["records"])
    if isinstance(found, dict) and key in INSIDE_IN_ANY_ORDER:
        outer, inner = INSIDE_IN_ANY_ORDER[key]
        for each in found[outer]:
            each[inner].sort(key=str)
    if isinstance(found, dict) and key == 19:
        for topic in found["topics"]:
            topic["topic_id"] = None
    return found


def main(words: list[str] | None = None) -> int:
    """Return 0 if all answers were equal, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.rights", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", choices=sorted(BROKERS), default="4.4")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), metavar=("FROM", "TO"))
    parser.add_argument("--exchanges", type=int, default=33, help="of each seed")
    parser.add_argument("--save", action="store_true", help=f"add the run to tools/records/{FILE.name}, from which docs/proof is written")
    asked = parser.parse_args(words)
    run = RightsRun(BROKERS[asked.release], tuple(asked.seeds), 0, 0, 0, 0, 0, {})
    apis: Counter[str] = Counter()
    began = time.monotonic()
    with secured_kafka(BROKERS[asked.release], SETTINGS) as broker:
        for seed in range(*asked.seeds):
            comparison = Comparison(broker, asked.release, seed)
            comparison.prepare()
            for _ in range(asked.exchanges):
                comparison.change_rules()
                for _ in range(IN_AN_EXCHANGE):
                    comparison.step()
            apis.update(comparison.played)
            run.exchanges += asked.exchanges
            run.refused += comparison.refused
            run.different += len(comparison.different)
            for told in comparison.different:
                print(f"== seed {seed}: {told}")
    run.seconds, run.requests, run.apis = round(time.monotonic() - began, 1), apis.total(), dict(sorted(apis.items()))
    of = f"{run.exchanges} exchanges with {run.requests} requests of {len(apis)} APIs on Kafka {run.broker}"
    print(f"{of}: {run.refused} refused for a missing right, {run.different} answers differ")
    if asked.save:
        with FILE.open("ab") as file:
            file.write(msgspec.json.encode(run) + b"\n")
    return 1 if run.different else 0


if __name__ == "__main__":
    sys.exit(main())
