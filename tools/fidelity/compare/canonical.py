"""Compare two transcripts of one script field by field. The core was fed the broker's names and ids, so answers are compared as they
are; what is left to even out is what a shared broker adds (other scripts' groups) and time, which counts as a class."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

import msgspec

from groupmock_clients.probe.language.exchange import Send, Step
from groupmock_codec.api_keys import METADATA
from groupmock_codec.records import CONTROL_BIT

from ..generated.answers_json import binary, unbinary
from ..generated.script import Json, Script, asks_for_topics, ending, key_of, version_of
from ..generated.settings_classes import known
from ..generated.transcript import ANSWERED, Event, Facts, Transcript

EARLY_MS: Final = 40.0
LATE_MS: Final = 900.0
"""The greatest delay of Kafka's answer, compared with groupmock's, at which both still count as given at the same time (at once, at the
delay, at the expiry)."""
TIMED_LATE_MS: Final = 350.0
"""The greatest delay as in LATE_MS, for recordings that were made on a quiet machine."""
DAY_MS: Final = 86_400_000
LENGTH: Final = slice(8, 12)
CHECKSUM: Final = slice(17, 21)
ATTRIBUTES: Final = 22
TIMES: Final = slice(27, 43)
"""The position of the timestamps in a batch (docs/kafka/transactions.md#tx-80)."""


class Difference(msgspec.Struct, omit_defaults=True):
    """A difference between the two sides: the step's index (-1 for the play as a whole), the field's path, and the values of Kafka and
    groupmock."""

    step: int
    path: str
    real: Json
    ours: Json
    key: int | None = None
    version: int | None = None
    seed: int | None = None

    def __str__(self) -> str:
        api = "" if self.key is None else f" (api {self.key} v{self.version})"
        return f"step {self.step}{api}: {self.path}: Kafka {self.real!r}, ours {self.ours!r}"


Kind = tuple[int | None, str, str]
"""The properties that differences of one kind share: the API, the field without the places in lists, and the error codes, if the field
is one."""
_PLACE: Final = re.compile(r"\[\d+\]")


def kind_of(difference: Difference) -> Kind:
    """Return the kind of a difference, by which the differences of many exchanges are grouped."""
    path = _PLACE.sub("[]", difference.path)
    codes = f"{difference.real} / {difference.ours}" if path.endswith("error_code") else ""
    return difference.key, path, codes


Even = Callable[[dict[str, Json], Facts], dict[str, Json]]


def _list_groups(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Drop other scripts' groups and sort the rest, because Kafka lists groups in the order of a hash map."""
    mine = [one for one in answer["groups"] if one["group_id"] in facts.groups]
    return {**answer, "groups": sorted(mine, key=lambda one: str(one["group_id"]))}


def _metadata(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Drop other scripts' topics, and the controller's id, which depends on the kind of broker."""
    mine = [one for one in answer["topics"] if one["error_code"] or one["name"].startswith(facts.stem) or _shared(one, facts)]
    return {**answer, "controller_id": None, "topics": mine}


def _shared(topic: dict[str, Json], facts: Facts) -> bool:
    return any(fact.name == topic["name"] for fact in facts.topics)


def _producer_id(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Replace a producer id by 0, because brokers count producer ids."""
    return {**answer, "producer_id": min(answer["producer_id"], 0)}


def _fetched(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Blank the timestamps of transaction markers, which are the times at which transactions ended."""
    even = deepcopy(answer)
    for topic in even["responses"]:
        for row in topic["partitions"]:
            if isinstance(row.get("records"), dict) and "bytes" in row["records"]:
                row["records"] = binary(_timeless(unbinary(row["records"])))
    return even


def _timeless(data: bytes) -> bytes:
    """Return the batches of a log, in which transaction markers have neither a timestamp nor a checksum."""
    parts, at = [], 0
    while at + LENGTH.stop <= len(data):
        size = LENGTH.stop + int.from_bytes(data[at + LENGTH.start : at + LENGTH.stop])
        batch = bytearray(data[at : at + size])
        if len(batch) <= ATTRIBUTES or batch[ATTRIBUTES] & CONTROL_BIT:  # A Fetch may cut the last batch anywhere, even within its header.
            for times in (CHECKSUM, TIMES):
                batch[times] = bytes(len(batch[times]))
        parts.append(batch)
        at += size
    return b"".join([*parts, data[at:]])


def clock(value: int, facts: Facts) -> int:
    """Replace a time of the broker's clock by 0, and keep any other value."""
    return 0 if abs(value - facts.epoch_ms) < DAY_MS else value


def _found_by_time(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Replace timestamps of the broker's clock, because ListOffsets may find a marker by its time."""
    rows = [
        {
            **topic,
            "partitions": [
                {**row, "timestamp": clock(row["timestamp"], facts)} if "timestamp" in row else row for row in topic["partitions"]
            ],
        }
        for topic in answer["topics"]
    ]
    return {**answer, "topics": rows}


def _producers(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Replace the times at which the broker saw the producers."""
    even = deepcopy(answer)
    for topic in even["topics"]:
        for row in topic["partitions"]:
            for producer in row["active_producers"]:
                producer["last_timestamp"] = clock(producer["last_timestamp"], facts)
    return even


def _transactions(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Replace the start times of transactions, so that only their presence is compared."""
    states = [{**one, "transaction_start_time_ms": clock(one["transaction_start_time_ms"], facts)} for one in answer["transaction_states"]]
    return {**answer, "transaction_states": states}


def _listed_transactions(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Drop other scripts' transactional ids and sort the rest, because Kafka lists them in the order of hash maps."""
    mine = [one for one in answer["transaction_states"] if one["transactional_id"].startswith(f"{facts.stem}-")]
    return {**answer, "transaction_states": sorted(mine, key=lambda one: str(one["transactional_id"]))}


def _verified(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the answer to a verification, because 3.9 (v4+) answers brokers in another order (docs/kafka/differences.md#transactions)."""
    if facts.release != "3.9" or "results_by_transaction" not in answer:
        return answer
    even = deepcopy(answer)
    for each in even["results_by_transaction"]:
        for topic in each["topic_results"]:
            topic["results_by_partition"].sort(key=repr)
        each["topic_results"].sort(key=repr)
    return even


def _committed(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the answer for releases before 4.0, which answer in the order of Scala's maps (docs/kafka/differences.md#transactions)."""
    even = deepcopy(answer)
    for row in (row for topic in even["topics"] for row in topic["partitions"]):
        row["error_code"] = min(NOT_ADDED) if row["error_code"] in NOT_ADDED else row["error_code"]
    if facts.release != "3.9":
        return even
    rows = [{**topic, "partitions": sorted(topic["partitions"], key=repr)} for topic in even["topics"]]
    return {**even, "topics": sorted(rows, key=repr)}


def _deleted_topics(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the answer, because KRaft brokers shuffle it on purpose (ControllerApis.deleteTopics)."""
    return {**answer, "responses": sorted(answer["responses"], key=repr)}


def _configs(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the configs, because Kafka lists them in the order of a hash map."""
    return {**answer, "results": [{**one, "configs": _sorted(one["configs"])} for one in answer["results"]]}


def _made_topics(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the configs of topics in an answer to CreateTopics, because Kafka lists them in the order of a hash map. A topic that is only
    validated gets an id, too."""
    return {**answer, "topics": [{**one, "configs": _sorted(one.get("configs"))} for one in answer["topics"]]}


def _sorted(configs: Json) -> Json:
    """Sort configs by name, without the one that the oracle sets."""
    kept = [one for one in configs or [] if one["name"] != "flush.ms"]
    return sorted(kept, key=lambda one: str(one["name"]))


def _share_offsets(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the topics of each group by their ids. Kafka lists them by hash, and those of one bucket in the order in which its coordinator's
    log has them."""
    return {**answer, "groups": [{**one, "topics": sorted(one["topics"], key=repr)} for one in answer["groups"]]}


def _endpoints(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Sort the topics of each endpoint, and their partitions. Kafka lists topics subtopology by subtopology in the order of an immutable
    map, which each start of Java salts, and Kafka 4.3 lists partitions in that of an immutable set."""
    if answer["partitions_by_user_endpoint"] is None:
        return answer
    names = ("active_partitions", "standby_partitions")
    rows = [
        {**one, **{name: sorted(({**each, "partitions": sorted(each["partitions"])} for each in one[name]), key=repr) for name in names}}
        for one in answer["partitions_by_user_endpoint"]
    ]
    return {**answer, "partitions_by_user_endpoint": rows}


WITHIN: Final = re.compile(r"within \[-?\d+, \d+\]")


NOT_ADDED: Final = frozenset((48, 120))
"""Error codes of which chance decides, because a busy broker verifies several transactions with one request to the coordinator, and
words all results in the version of the first (AddPartitionsToTxnManager). Exchanges say which code a quiet broker answers."""


def _produced(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Blank the allowed timestamps in the text of a refused timestamp, because they come from the broker's clock."""
    even = deepcopy(answer)  # The answer is copied before it is changed, because the transcript itself must not change.
    for topic in even["responses"]:
        for row in topic["partition_responses"]:
            if row.get("error_code") in NOT_ADDED:
                row |= {"error_code": min(NOT_ADDED), **({"error_message": None} if "error_message" in row else {})}
            for fault in row.get("record_errors", ()):
                fault["batch_index_error_message"] = WITHIN.sub("within [...]", fault["batch_index_error_message"] or "")
    return even


SHARE_KEY: Final = re.compile(r".+:[A-Za-z0-9_-]{22}:-?\d+", re.DOTALL)
"""The form of a share coordinator's key: group, topic id and partition."""
NOT_MADE_YET: Final = 15


def _coordinators(answer: dict[str, Json], facts: Facts) -> dict[str, Json]:
    """Replace the share coordinators that were found by COORDINATOR_NOT_AVAILABLE (15). A broker answers 15 while it makes the topic
    __share_group_state, which takes as long as its metadata log does, and finds the coordinator afterwards. 3.9 always answers 15."""
    if facts.release == "3.9" or "coordinators" not in answer:
        return answer
    unavailable = {"node_id": -1, "host": "", "port": -1, "error_code": NOT_MADE_YET, "error_message": ""}
    rows = [{**one, **unavailable} if one["error_code"] == 0 and SHARE_KEY.fullmatch(one["key"]) else one for one in answer["coordinators"]]
    return {**answer, "coordinators": rows}


CONTROLLERS: Final = frozenset((19, 20, 33, 37, 44))
EVEN: Final[dict[int, Even]] = {
    0: _produced,
    1: _fetched,
    2: _found_by_time,
    3: _metadata,
    10: _coordinators,
    16: _list_groups,
    19: _made_topics,
    20: _deleted_topics,
    22: _producer_id,
    24: _verified,
    28: _committed,
    32: _configs,
    61: _producers,
    65: _transactions,
    78: _fetched,
    88: _endpoints,
    90: _share_offsets,
    66: _listed_transactions,
}
"""Maps an API key to the function that removes from its answers what may differ between two brokers without a meaning."""


def canonical(step: Step, event: Event, facts: Facts) -> dict[str, Json] | None:
    """Return an answer without what may differ between two brokers, such as ids and the order of hash maps."""
    if event.answer is None or not isinstance(step, Send):
        return event.answer
    even = EVEN.get(key_of(step))
    answer = event.answer if even is None else even(event.answer, facts)
    # A Metadata answer about all topics is sorted, because Kafka lists them in the order of a hash map.
    if key_of(step) == METADATA and not asks_for_topics(step):
        answer = {**answer, "topics": sorted(answer["topics"], key=lambda one: str(one["name"]))}
    return answer


def compare(
    script: Script, real: Transcript, ours: Transcript, *, late_ms: float = LATE_MS, early_ms: float = EARLY_MS, limit: int = 20
) -> list[Difference]:
    """Return the differences in the order of the steps, up to `limit`. A play that ended early is compared as far as it went, and its
    end is a difference too."""
    steps = (*script.steps, *ending(script, known(real.facts.release, real.facts.settings).versions))
    found: list[Difference] = []
    for index, (step, one, other) in enumerate(zip(steps, real.events, ours.events, strict=False)):
        for path, left, right in _events(step, one, other, real.facts, late_ms, early_ms):
            key, version = (key_of(step), version_of(step)) if isinstance(step, Send) else (None, None)
            found.append(Difference(index, path, left, right, key, version, script.seed))
        if len(found) >= limit:
            break
    if real.stopped is not None and not found:
        found.append(Difference(-1, "stopped", real.stopped, ours.stopped, seed=script.seed))
    elif not found and not len(real.events) == len(ours.events) == len(steps):
        found.append(Difference(-1, f"steps played of {len(steps)}", len(real.events), len(ours.events), seed=script.seed))
    return found


def _events(step: Step, one: Event, other: Event, facts: Facts, late_ms: float, early_ms: float) -> Iterator[tuple[str, Json, Json]]:
    if one.status != other.status:
        yield "status", _outcome(one), _outcome(other)
        return
    if one.answer != other.answer:
        yield from _fields("", canonical(step, one, facts), canonical(step, other, facts))
    if one.after != other.after:
        yield "answered after step", one.after, other.after
    elif isinstance(step, Send) and key_of(step) in CONTROLLERS:
        return  # No expected time is given for a controller's answers, because they wait for its metadata log.
    elif one.answered_ms is not None and other.answered_ms is not None and not -early_ms <= one.answered_ms - other.answered_ms <= late_ms:
        yield "answered at ms", one.answered_ms, other.answered_ms


def _outcome(event: Event) -> Json:
    return {"answer": event.answer} if event.status == ANSWERED else event.status


def _fields(path: str, one: Any, other: Any) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _fields(f"{path}.{name}" if path else name, one[name], other[name])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _fields(f"{path}[{at}]", left, right)
    elif one != other:
        yield path or "answer", one, other
