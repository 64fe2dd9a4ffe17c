"""The plan of a simulated run as explicit values, which can be stored as JSON and keep their meaning when the code that draws plans
changes.

Steps, each a list of its name and values. A name of a client is `c0`, `c1`, ...; a number that is too large is taken modulo what there is,
so that every list of steps is playable and steps can be left out.

    ["wait", ms]                        time passes
    ["start", client]                   a process that is not there starts
    ["kill", client, half_open]         it dies; 1: and its connections do not say so
    ["leave", client]                   it commits, leaves and ends
    ["subscribe", client, topics]       it subscribes to these, and joins again
    ["commit", client]                  it commits what it has delivered
    ["produce", topic, partition, n]    n records are produced
    ["cut", client, [sizes]]            its next bytes arrive in pieces of these sizes, 1 ms after each other
    ["glue", client, n, [sizes]]        its next n requests arrive in one segment, or in pieces of these sizes that know of no requests
    ["break", client, n]                its connection breaks after n more bytes
    ["deaf", client, ms]                it does not read for so long
    ["command", name, arguments]        a steering command; one that is refused did nothing
    ["faults", plan]                    the rules of a plan that ships with the product
    ["mutate", pick, [[place, value]]]  a stranger sends a request that was sent before, bytes of it replaced; none: the same again
    ["burst", what, n, pieces]          a stranger pipelines n requests, in so many pieces
    ["large", what, n]                  a stranger sends one request with n of something
    ["match", client, expression]       it subscribes to what this regular expression matches too; "" ends that
    ["create", topic, partitions]       a topic is created, unless there was one of that name
    ["delete", topic]                   a topic is deleted
    ["transact", writer, places, offset, commit, ms, client]
                                        a transaction is to write n records to each of these [topic, partition, n], an offset too if
                                        that is true, as this client's member if one is named, and to commit or abort ms later
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

KINDS: Final = ("groups", "steering", "faults", "wire", "hostile", "mixed")
"""The kinds of simulated runs by their subject; `mixed` is about everything. Every kind has members, time and records."""
OWN_KINDS: Final = ("consumers", "transactions", "shares", "streams")
"""The kinds of simulated runs that are played on request only, because seeds that could draw them would get other plans than before."""
EVERY_KIND: Final = (*KINDS, *OWN_KINDS)

CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
"""The group protocols of a client."""

OFFSETS: Final = "o0"
"""The topic for whose partitions only transactional producers commit offsets."""

Step = list[Any]


class SimulatedClient(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A process of a simulated run that is a consumer. Times are ms; `versions` maps an API key to the version that it speaks.

    `protocols` are its assignors, the best first. A member of a consumer group (`protocol`) has at most one, which the server runs; it
    subscribes to `regex` too, takes `revoke_ms` to give partitions up, and says everything in each heartbeat if it is `full`.

    A member of a share group polls every `heartbeat_ms`, and needs `work_ms` for what it got. `acknowledges` has the types with which it
    acknowledges records one after the other, -1 for never, `by_fetch` within its next ShareFetch. It fetches `max_records` at most, and
    exactly so many with `by_record`.

    A member of a streams group is a thread of `process`. Its application reads `topics`, repartitions the records if `repartitions`, and
    keeps state in its last subtopology if `stateful`.
    """

    name: str
    group: str
    topics: list[str]
    protocols: list[str]
    instance: str | None = None
    session_ms: int = 6_000
    rebalance_ms: int = 8_000
    heartbeat_ms: int = 1_500
    versions: dict[int, int] = {}
    protocol: str = CLASSIC
    regex: str = ""
    revoke_ms: int = 0
    full: bool = False
    work_ms: int = 0
    acknowledges: list[int] = []
    by_fetch: bool = False
    by_record: bool = False
    max_records: int = 500
    process: str = ""
    repartitions: bool = False
    stateful: bool = False


class SimulatedWriter(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A process of a simulated run that is a transactional producer. Several of one `transactional_id` fence each other.

    `register` is its partition of OFFSETS. `recovers`: after an error it asks who it is with its own producer id and epoch (KIP-360),
    and else it ends.
    """

    name: str
    transactional_id: str
    group: str
    register: int
    timeout_ms: int
    recovers: bool
    versions: dict[int, int]


class SimulationPlan(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Everything that determines a simulated run, so that it can be repeated. `seed` seeds the core's random generator, and `leases`
    lets the driver repeat heartbeats without the core. `settings` have Kafka's names, and `topics` maps a name to its number of
    partitions."""

    seed: int
    kind: str
    profile: str
    settings: dict[str, str]
    nodes: int
    topics: dict[str, int]
    leases: bool
    clients: list[SimulatedClient]
    steps: list[Step]
    writers: list[SimulatedWriter] = []


def plan_of(case: dict[str, Any]) -> SimulationPlan:
    """Return the plan in the content of a finding's file. Raises msgspec.ValidationError."""
    return msgspec.convert(case, SimulationPlan, strict=False)


def case_of(plan: SimulationPlan) -> dict[str, Any]:
    """Return the part of a plan that a finding's file keeps."""
    case: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plan))
    return case
