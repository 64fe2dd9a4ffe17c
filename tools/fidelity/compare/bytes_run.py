"""Play hostile inputs of many seeds on a broker and on groupmock's connection code, compare the reactions, and keep some inputs."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from groupmock.rig.wire import request
from groupmock_clients.probe.stages.tcp_broker import NoBroker
from groupmock_codec import APIS
from groupmock_codec.units import NS_PER_MS
from tools.records import RECORDS, save
from tools.runs import ROOT

from ..families.bytes_family import make_case, probe, token_of
from ..families.target import Case
from ..generated.settings_classes import BROKERS, ORACLE
from ..guided.raw_bytes import CLOSED, LAST, InMemoryServer, Outcome, over_tcp
from .canonical import Difference
from .counts import FamilyResult
from .reaction import frames_of, reaction
from .recorded_differences import known_as

Json = Any
SETTINGS: Final = {
    **ORACLE,
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "400",
    "group.min.session.timeout.ms": "100",
}
"""The settings with which the broker must have been started that gets the hostile inputs."""
REPEATS: Final = 3
PER_CLASS: Final = 14
"""The number of hostile inputs that are kept for each class of them."""
PORT: Final = 9092
WARM_UP_TRIES: Final = 200


class KeptInput(msgspec.Struct):
    """A hostile input with Kafka's reaction to it, one line of tests/golden/hostile-<release>.jsonl.gz. `token` is in the names of its
    own."""

    name: str
    token: str
    writes: list[bytes]
    reaction: Json


class Judged(msgspec.Struct):
    """A hostile input with the reactions of Kafka and groupmock."""

    seed: int
    case: Case
    token: str
    real: Json
    ours: Json
    real_kind: str
    our_kind: str


def ours(release: str, writes: list[bytes], port: int = PORT) -> Outcome:
    """Return how groupmock's connection code reacts to these bytes, on a new cluster."""
    server = InMemoryServer(f"kafka-{release}", SETTINGS, "127.0.0.1", port)
    outcome = server.play(writes)
    if server.rig.driver.counters.internal_errors:
        raise AssertionError(f"an internal error of groupmock: {[data.hex() for data in writes]}")
    return outcome


def kind_of(outcome: Outcome) -> str:
    """Describe the reaction of a broker to a hostile input in a word or two. Good requests before and behind (correlation ids 1 and 2)
    do not count."""
    answers = [frame[:4] for frame in outcome.frames]
    answered = any(int.from_bytes(each) not in (1, 2) for each in answers if each != LAST)
    if outcome.end == CLOSED:
        return "answered, then closed" if answered else "closed"
    if LAST not in answers:
        return "mute" if not answered else "answered, then mute"
    return "answered" if answered else "no answer, goes on"


class BytesRun:
    """Plays the inputs of many seeds against one broker, several at a time."""

    def __init__(self, release: str, host: str, port: int, parallel: int) -> None:
        self.release, self.host, self.port = release, host, port
        self._parallel = parallel
        self._stem = f"{time.time_ns() // NS_PER_MS % 10**8:x}"
        self._plays = itertools.count(1)
        self.judged: list[Judged] = []
        self.differing: list[Judged] = []
        self.unstable: list[int] = []
        self.recorded: Counter[str] = Counter()
        self.replayed = 0

    def all(self, first: int, last: int) -> FamilyResult:
        """Play every seed, and repeat an input twice if the reactions differ. Raises NoBroker."""
        self.warm_up()
        begun = time.monotonic()
        with ThreadPoolExecutor(self._parallel) as pool:
            for seed, judged in zip(range(first, last), pool.map(self._play, range(first, last)), strict=True):
                self._count(seed, judged)
        return self.result((first, last), time.monotonic() - begun)

    def _count(self, seed: int, judged: Judged) -> None:
        self.judged.append(judged)
        if judged.real == judged.ours:
            return
        one = known_as("bytes", self.release, difference(judged))
        if one is not None:
            self.recorded[one.id] += 1
            return
        for _ in range(REPEATS - 1):
            self.replayed += 1
            judged = self._play(seed)
            if judged.real == judged.ours:
                self.unstable.append(seed)
                return
        self.differing.append(judged)

    def _play(self, seed: int) -> Judged:
        stem = f"{self._stem}{next(self._plays):x}-"
        case = make_case(seed, self.release, stem)
        writes = [*case.writes, probe()]
        mine = ours(self.release, writes, self.port)
        real = over_tcp(self.host, self.port, writes, mine)
        token = token_of(seed, stem)
        return Judged(seed, case, token, reaction(real, writes, token), reaction(mine, writes, token), kind_of(real), kind_of(mine))

    def warm_up(self) -> None:
        """Wait until groups have a coordinator and producers get ids, because a new broker answers errors 14 to 16 at first. Raises
        NoBroker."""
        wanted = ((10, 0, {"key": "warm"}), (22, 0, {"transactional_id": None, "transaction_timeout_ms": 1000}))
        for key, version, fields in wanted:
            api = APIS[key]
            asked = request(key, version, api.request.message(**fields), 7, "warm")
            for _ in range(WARM_UP_TRIES):
                outcome = over_tcp(self.host, self.port, [asked, probe()], None)
                if not outcome.frames:
                    raise NoBroker(f"{api.name} v{version} is not answered")
                if getattr(api.response.decode(version, outcome.frames[0][4:]), "error_code") == 0:  # noqa: B009  # of two classes
                    break
                time.sleep(0.05)  # The broker is polled, because it offers no event to wait for.
            else:
                raise NoBroker(f"{api.name} is answered with errors still at the {WARM_UP_TRIES}th try")
        time.sleep(0.5)  # A coordinator that answers may not have loaded its partitions yet.

    def result(self, seeds: tuple[int, int], seconds: float) -> FamilyResult:
        """Return the run's figures in the form that the runs of all families of exchanges have."""
        apis: dict[str, dict[str, list[int]]] = {}
        outcomes: dict[str, Counter[str]] = {}
        for judged in self.judged:
            key, version = last_request(judged.case.writes)
            if key in APIS:
                apis.setdefault(APIS[key].name, {}).setdefault(str(version), [0, 0])[0] += 1
                outcomes.setdefault(APIS[key].name, Counter())[judged.real_kind] += 1
        return FamilyResult(
            family="bytes", release=self.release, broker=BROKERS[self.release], settings="plain", seeds=seeds,
            exchanges=len(self.judged), requests=len(self.judged), seconds=round(seconds, 1),
            per_second=round(len(self.judged) / seconds, 1), apis=apis, outcomes={name: dict(found) for name, found in outcomes.items()},
            states={}, differences=[difference(each) for each in self.differing], unstable=self.unstable,
            recorded=dict(self.recorded), noisy=0, replayed=self.replayed,
        )  # fmt: skip


def last_request(writes: list[bytes]) -> tuple[int, int]:
    """Return API key and version of the request that was spoiled, or (-1, -1) if no request can be recognized."""
    frames = [frame for frame in frames_of(b"".join(writes)) if len(frame) >= 8 and int.from_bytes(frame[4:8]) not in (1, 2)]
    if not frames:
        return -1, -1
    return int.from_bytes(frames[-1][:2], signed=True), int.from_bytes(frames[-1][2:4], signed=True)


def difference(judged: Judged) -> Difference:
    """Return the difference between Kafka's and groupmock's reaction in the form that recorded_differences.toml describes: the class as
    path, and the reactions as JSON texts."""
    key, version = last_request(judged.case.writes)
    real, mine = json.dumps(judged.real), json.dumps(judged.ours)
    return Difference(0, judged.case.name, real, mine, key=key, version=version, seed=judged.seed)


# -- what is kept ------------------------------------------------------------------------------------------------------


def corpus_file(folder: Path, release: str) -> Path:
    return folder / f"hostile-{release}.jsonl.gz"


def load(file: Path) -> Iterator[KeptInput]:
    with gzip.open(file) as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=KeptInput)


def keep(folder: Path, release: str, judged: list[Judged]) -> Path:
    """Keep some inputs of each class with Kafka's reactions, preferring different APIs and reactions. Only what was equal is kept."""
    chosen: list[Judged] = []
    for name in sorted({each.case.name for each in judged}):
        mine = [each for each in judged if each.case.name == name and each.real == each.ours]
        first = {(last_request(each.case.writes), each.real_kind): each for each in mine}
        chosen += sorted(first.values(), key=lambda each: each.seed)[:PER_CLASS]
    rows = [KeptInput(each.case.name, each.token, [*each.case.writes, probe()], each.real) for each in chosen]
    file = corpus_file(folder, release)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(b"".join(msgspec.json.encode(row) + b"\n" for row in rows), mtime=0))
    return file


def numbers(judged: list[Judged]) -> dict[str, Json]:
    """Return for each class the number of inputs, the reactions of both sides, and the number of differences."""
    found: dict[str, Json] = {}
    for name in sorted({each.case.name for each in judged}):
        mine = [each for each in judged if each.case.name == name]
        found[name] = {
            "different": sum(each.real != each.ours for each in mine),
            "inputs": len(mine),
            "kafka": dict(sorted(Counter(each.real_kind for each in mine).items())),
            "ours": dict(sorted(Counter(each.our_kind for each in mine).items())),
        }
    return found


def record(run: BytesRun, seeds: tuple[int, int]) -> None:
    """Keep inputs in tests/golden and the numbers of each class for the page about bad bytes."""
    keep(ROOT / "tests" / "golden", run.release, run.judged)
    file = RECORDS / "bad-bytes.json"
    found = json.loads(file.read_text()) | {
        run.release: {"broker": BROKERS[run.release], "classes": numbers(run.judged), "seeds": seeds},
    }
    save(file, dict(sorted(found.items())))
