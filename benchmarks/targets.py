"""Defines every figure that the project promised itself: its meaning, the floor it must reach and its moonshot."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """The verdicts that a comparison of a measurement with its target may have."""

    MOONSHOT = "moonshot"
    FLOOR = "floor met"
    MISSED = "MISSED"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class Target:
    """A row of the table of figures. `floor` is a condition, `moonshot` an aim; a row without either is shown for comparison."""

    key: str
    what: str
    unit: str
    floor: float | None
    moonshot: float | None
    higher_is_better: bool

    def verdict(self, measured: float) -> Verdict:
        """Return the verdict on a measurement, which is given in the target's unit."""
        if self.reaches(measured, self.moonshot):
            return Verdict.MOONSHOT
        return Verdict.FLOOR if self.reaches(measured, self.floor) else Verdict.MISSED

    def reaches(self, measured: float, limit: float | None) -> bool:
        """Return whether a measurement is at least as good as that limit. None is no limit, so everything reaches it."""
        if limit is None:
            return True
        return measured >= limit if self.higher_is_better else measured <= limit


def _more(key: str, what: str, floor: float, moonshot: float, unit: str = "x") -> Target:
    return Target(key, what, unit, floor, moonshot, higher_is_better=True)


def _less(key: str, what: str, floor: float, moonshot: float, unit: str) -> Target:
    return Target(key, what, unit, floor, moonshot, higher_is_better=False)


LOAD_NAMES = {"100x1": "100 connections", "1000x1": "1,000 connections", "1x64": "1 connection x 64 pipelined"}


def _cells(key: str, what: str, floors: tuple[float, float, float], moonshots: tuple[float, float, float]) -> list[Target]:
    return [
        _more(f"{key}.{load}", f"{what}, {name}", floor, moonshot)
        for (load, name), floor, moonshot in zip(LOAD_NAMES.items(), floors, moonshots, strict=True)
    ]


TARGETS: dict[str, Target] = {
    target.key: target
    for target in (
        *_cells("heartbeats.echo", "heartbeats per CPU second against the uvloop echo", (0.65, 0.65, 0.35), (0.95, 0.90, 0.95)),
        *_cells("heartbeats.cmock", "heartbeats/s against librdkafka's C mock", (0.9, 1.0, 1.1), (1.2, 1.3, 2.5)),
        *_cells("journal.echo", "heartbeats/s with every frame journalled, against the echo", (0.20, 0.20, 0.10), (0.5, 0.5, 0.3)),
        _more("codec.construct.parse", "codec, JoinGroup response v9, 1,000 members: parse, against construct", 10, 20),
        _more("codec.construct.build", "... build, against construct", 20, 30),
        _more("codec.kafka-python.parse", "... parse, against kafka-python 3", 1.5, 2.2),
        _more("codec.kafka-python.build", "... build, against kafka-python 3", 4, 6),
        _more("audit.read", "rows audited per second, against reading them alone", 0.08, 0.2),
        _less("audit.memory", "memory after 10^6 audited rows, against after 10^5", 1.1, 1.02, "x"),
        _less("timeline.size", "timeline of 240 members x 10 min: the page", 1.5, 1, "MB"),
        _less("timeline.read", "... time to write it, against reading its journal alone", 12, 5, "x"),
        _less("timeline.first", "... until it is drawn first, in Chromium on processors alone", 3000, 1000, "ms"),
        _more("timeline.frames", "... frames per second while it is zoomed, in Chromium on processors alone", 20, 55, "/s"),
        *(
            _less(f"settle.{client}.{count}", f"{count} {client} consumers hold 60 partitions, against the clients' floor", 1.5, 1.15, "x")
            for client in ("aiokafka", "confluent")
            for count in (1, 10, 50)
        ),
        _more("faults.lease", "no fault rule: CPU of repeated heartbeats, the build before there were any against this one", 0.98, 1.0),
        _more("faults.full", "... of heartbeats that are not repeated", 0.98, 1.0),
        _more("faults.rounds", "... of JoinGroup and SyncGroup", 0.98, 1.0),
        _more("secured.echo.100x1", "heartbeats over TLS per CPU second against asyncio's TLS echo, 100 connections", 0.6, 0.95),
        _more("secured.echo.1x64", "... 1 connection x 64 pipelined", 0.6, 0.95),
        _more("secured.start", "no listener named: CPU of the start, the build before listeners against this one", 0.95, 1.0),
        _more("secured.lease", "... of repeated heartbeats", 0.95, 1.0),
        _more("secured.full", "... of heartbeats that are not repeated", 0.95, 1.0),
        _more("secured.rounds", "... of JoinGroup and SyncGroup", 0.95, 1.0),
        _less("transactions.produce", "1,000 open transactions in a partition: CPU of a plain Produce, against none", 1.3, 1.05, "x"),
        _less("transactions.produce.own", "... of a Produce in a transaction, against one that is alone", 1.3, 1.05, "x"),
        _less("transactions.fetch.open", "... of a read_committed Fetch of 1 MB before them, against none", 1.3, 1.05, "x"),
        _less("transactions.fetch.aborted", "5,000 aborted transactions read in answers of 1 MB: read_committed, against not", 3, 1.5, "x"),
        _less("transactions.fetch.small", "... in answers of one batch", 2, 1.2, "x"),
        _less("storm.cpu", "join storm of 5,000 members on a warm server: CPU per member, against the floor's", 4, 2.4, "x"),
        _less("storm.cold", "... on a server that has just said that it is ready, against the warm one's", 2, 1.25, "x"),
        _less("storm.pause", "join storm of 10,000 members: longest loop pause", 50, 5, "ms"),
        _less("pauses.classic", "10,000 classic members join, settle, lose their leader and expire: longest loop pause", 30, 20, "ms"),
        _less("pauses.consumers", "10,000 members of a consumer group join, settle and expire: longest loop pause", 30, 20, "ms"),
        _less("pauses.mixed", "... 2,000 members with different subscriptions", 30, 20, "ms"),
        _less("crowd.1", "a bystander's p99 beside one peer that pipelines as fast as it can (the worst of five requests)", 25, 11, "ms"),
        _less("crowd.20", "... beside 20", 50, 4, "ms"),
        _less("crowd.100", "... beside 100", 150, 10, "ms"),
        _less("crowd.silent", "... beside 200 that send and never read", 150, 10, "ms"),
        _less("assignors.uniform.alike", "one joins 1,000 members with 10,000 partitions of 100 topics: a target of uniform", 50, 10, "ms"),
        _less("assignors.uniform.different", "... where each subscribes to its own half of the topics", 150, 50, "ms"),
        _less("assignors.range.alike", "... of range", 75, 20, "ms"),
        _less("assignors.range.different", "... where each subscribes to its own half of the topics", 150, 50, "ms"),
        _less("memory.member", "resident memory per joined member with its connection, warm server", 6, 3.5, "kB"),
        _more("consumers.heartbeats", "heartbeats per CPU second of 1,000 consumer-group members, against the uvloop echo", 0.80, 0.88),
        _less("consumers.memory", "resident memory per member of a consumer group with its connection", 4, 3.5, "kB"),
        _less("consumers.pause", "10,000 members of a consumer group join: longest loop pause until they have settled", 20, 5, "ms"),
        _less("consumers.cpu", "... server CPU per member, against three round trips of the echo", 20, 10, "x"),
        _more("shares.heartbeats", "heartbeats per CPU second of 1,000 share-group members, against the uvloop echo", 0.80, 0.88),
        _more("shares.fetch", "empty ShareFetches of a session per CPU second, against empty Fetches of a session", 0.9, 1.2),
        _less("shares.pause", "1,000 members of a share group join: longest loop pause until they have settled", 20, 5, "ms"),
        _less("shares.pause.records", "... each gets 100 records, loses and acknowledges them: longest loop pause", 20, 5, "ms"),
        _less("shares.pause.closed", "... all of their connections close at once: longest loop pause", 20, 5, "ms"),
        _less("shares.memory", "100,000 records in flight, fetched in batches of 100: resident memory per record", 100, 10, "B"),
        _less("shares.memory.apart", "... each released or accepted on its own, so that no two neighbours are alike", 400, 200, "B"),
        _less("streams.pause", "500 members of a streams group with 2,000 tasks come, go and expire: longest loop pause", 20, 5, "ms"),
        _less("streams.pause.described", "... are described: longest loop pause", 20, 10, "ms"),
        _more("proxy.heartbeats.1", "recording proxy before Apache Kafka, against a plain one: heartbeats/s, 1 connection", 0.8, 0.95),
        _more("proxy.heartbeats.100", "... 100 connections", 0.8, 0.95),
        _more("proxy.fetch", "... fetched MB/s", 0.8, 0.95),
        _more("proxy.rounds", "... rounds of JoinGroup and SyncGroup of five members a second", 0.8, 0.95),
        _less("startup.ready", "CPU of `groupmock serve` from exec to its ready line, against `import uvloop`", 3, 1.5, "x"),
        _less("startup.first", "CPU of the first JoinGroup of a server, against the hundredth's", 20, 2, "x"),
        _less("pipeline.all.cold", "pipeline: `all` with its report over 20 journals (10^5 rows) from a cold start", 25, 15, "s"),
        _less("pipeline.all.more", "... ten journals more into the same lake", 15, 8, "s"),
        _less("pipeline.ingest.large", "... 10^7 rows in 2,000 journals: ingest", 150, 75, "s"),
        _less("pipeline.rebalances.large", "... rebalances", 120, 60, "s"),
        _less("pipeline.ingest.growth", "... exponent of ingest's cost between the two largest sizes (1: linear)", 1.1, 1.0, ""),
        _less("pipeline.rebalances.growth", "... of rebalances'", 1.1, 1.0, ""),
        _less("pipeline.duckdb.query", "... the same query at 10^6 rows: Spark's time as a multiple of one DuckDB process's", 20, 2, "x"),
        _less("idle.cpu", "CPU with 1,000 idle connections and 200 groups", 0.5, 0.1, "%"),
    )
}
