"""Write the page about tests of clients' own suites, which `tests/interop/transact` recorded on groupmock and on Apache Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tools.records import RECORDS

from .markdown import cell, notice, table

NOTICE = notice("suites", "suites.json")
Row = dict[str, Any]


HEADS: Final = ["suite", "Kafka", "nodes", "tests", "pass on groupmock", "pass on Kafka", "on Kafka alone"]


def text() -> str:
    return page(json.loads((RECORDS / "suites.json").read_text(encoding="utf-8")))


def page(data: dict[str, Row]) -> str:
    """Return the text of the page. `data` maps a suite to its client and tests, in the order in which they ran."""
    lines = [
        NOTICE,
        "# Tests of clients",
        "",
        "This page has the results of the tests that the authors of four clients wrote for transactions and idempotent producers, of",
        "librdkafka's tests for consumers with `group.protocol=consumer`, and of the tests of confluent-kafka-python and franz-go for",
        "share groups. The unchanged tests ran against groupmock and against Apache Kafka: 4.4.0 with the profile `kafka-4.4` for share",
        "groups, and else 4.3.0 with the profile `kafka-4.3`. `make live PARTS=suites` runs these tests again.",
        "",
        "```text",
        "tests/interop/transact                     # all of them; `make docs` then writes this page",
        "tests/interop/transact --only librdkafka-groups",
        "```",
        "",
        "franz-go's tests come with its Go module, librdkafka's with the sources in the npm package `@confluentinc/kafka-javascript`.",
        "The tests of aiokafka, KafkaJS and confluent-kafka-python exist only in their repositories: `GROUPMOCK_SUITES` names a folder",
        "with checkouts `aiokafka` (v0.14.0), `kafkajs` (v2.2.4) and `confluent-kafka-python` (v2.15.0). Tests that need another listener",
        "(TLS, SASL), another host name than 127.0.0.1 or a schema registry fail on both brokers. Two of librdkafka's tests of groups",
        "are left out, because chance decides their result on both brokers: `0045_subscribe_many_updates` and `0118_commit_rebalance`.",
        "The file `tools/records/suites.json` names every test.",
        "",
        *table(HEADS, _suites(data)),
        "",
    ]
    for suite in data.values():
        if any(not (each["groupmock"] and each["kafka"]) for each in suite["tests"]):
            heads = ["test", "groupmock", f"Kafka {_release(suite)}", "it says"]
            lines += [f"## {suite['client']}: what fails", "", *table(heads, _failed(suite)), ""]
    return "\n".join(lines[:-1]) + "\n"


def _suites(data: dict[str, Row]) -> Iterator[list[str]]:
    for suite in data.values():
        tests = suite["tests"]
        alone = sum(each["kafka"] and not each["groupmock"] for each in tests)
        counts = (len(tests), sum(each["groupmock"] for each in tests), sum(each["kafka"] for each in tests), alone)
        yield [suite["client"], _release(suite), str(suite["nodes"]), *map(str, counts)]


def _release(suite: Row) -> str:
    return str(suite.get("release", "4.3.0"))


def _failed(suite: Row) -> Iterator[list[str]]:
    for each in suite["tests"]:
        if not (each["groupmock"] and each["kafka"]):
            marks = ["passes" if each[side] else "**fails**" for side in ("groupmock", "kafka")]
            yield [f"`{_plain(each['test'])}`", *marks, f"`{_plain(each['said'])}`" if each["said"] else ""]


def _plain(said: str) -> str:
    return cell(said.replace("`", "'").strip())
