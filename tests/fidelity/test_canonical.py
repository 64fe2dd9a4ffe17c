"""Compares two equal plays after one change to one side, which compare() must either report or normalize away."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from cases import for_each

from groupmock_codec import APIS
from tools.fidelity.compare.canonical import EARLY_MS, LATE_MS, Difference, canonical, compare
from tools.fidelity.generated.script import Script, TopicNeed, group, pause, request
from tools.fidelity.generated.transcript import ANSWERED, PARKED, Event, Facts, TopicFact, Transcript, imagined
from tools.fidelity.guided.core_player import play

HEARTBEAT = request("A", 12, 4, {"group_id": group(1), "generation_id": 1, "member_id": "m"})
SCRIPT = Script("groups", 3, "4.3", "plain", [HEARTBEAT, pause(10), HEARTBEAT], 1, [TopicNeed(2)])
FACTS = Facts("4.3", "plain", 1, "h", 1, "c", "/h", 0, ["d3-1"], [TopicFact("shared-1-2", b"\1" * 16, 2)], "d3")


def pair() -> tuple[Transcript, Transcript]:
    """Return the transcripts of two equal plays."""
    first = play(SCRIPT)
    return first, deepcopy(first)


def paths(found: list[Difference]) -> list[tuple[int, str]]:
    return [(each.step, each.path) for each in found]


def even(key: int, answer: dict[str, Any], **fields: Any) -> Any:
    return canonical(request("A", key, APIS[key].versions.lowest, fields), Event(status=ANSWERED, answer=answer), FACTS)


def test_equal_plays_are_equal() -> None:
    assert compare(SCRIPT, *pair()) == []


def test_a_changed_field_is_told_with_both_values() -> None:
    real, ours = pair()
    real.events[2].answer = {"throttle_time_ms": 0, "error_code": 22}
    (found,) = compare(SCRIPT, real, ours)
    assert str(found) == "step 2 (api 12 v4): error_code: Kafka 22, ours 25"
    assert found.seed == SCRIPT.seed


def test_a_field_that_one_side_lacks_is_told() -> None:
    real, ours = pair()
    real.events[0].answer = {"error_code": 25}
    assert paths(compare(SCRIPT, real, ours)) == [(0, "answer")]


def test_a_list_of_another_length_is_told_as_a_whole() -> None:
    real, ours = pair()
    described = real.events[3].answer
    assert described is not None
    described["groups"] = []
    assert paths(compare(SCRIPT, real, ours)) == [(3, "groups")]


@for_each("which", ["real", "ours"])
def test_a_missing_answer_is_told(which: str) -> None:
    real, ours = pair()
    event = (real if which == "real" else ours).events[0]
    event.status, event.answer, event.answered_ms = PARKED, None, None
    (found,) = compare(SCRIPT, real, ours)
    assert found.path == "status"
    assert (found.real if which == "real" else found.ours) == PARKED


@for_each(
    ("moved", "told"), [(-EARLY_MS - 1, True), (-EARLY_MS + 1, False), (LATE_MS - 1, False), (LATE_MS + 1, True)], ids="{:+.0f}".format
)
def test_an_answer_may_be_late_by_a_busy_machine_and_never_early(moved: float, told: bool) -> None:
    real, ours = pair()
    answered = real.events[0].answered_ms
    assert answered is not None
    real.events[0].answered_ms = answered + moved
    assert paths(compare(SCRIPT, real, ours)) == ([(0, "answered at ms")] if told else [])


def test_an_answer_after_another_step_is_told() -> None:
    real, ours = pair()
    real.events[0].after = 2
    assert paths(compare(SCRIPT, real, ours)) == [(0, "answered after step")]


def test_a_controllers_time_is_its_own() -> None:
    script = Script("log", 3, "4.3", "plain", [request("A", 20, 4, {"topic_names": ["none"]})], 0, [TopicNeed(1)])
    real = play(script)
    ours = deepcopy(real)
    real.events[0].answered_ms = 5000.0
    assert compare(script, real, ours) == []


@for_each("cut", ["real", "ours", "both"])
def test_a_play_that_misses_steps_is_never_equal(cut: str) -> None:
    real, ours = pair()
    for name, transcript in (("real", real), ("ours", ours)):
        if cut in (name, "both"):
            del transcript.events[-1]
    (found,) = compare(SCRIPT, real, ours)
    assert (found.step, found.path) == (-1, "steps played of 6")


def test_so_many_differences_are_enough() -> None:
    real, ours = pair()
    for event in real.events:
        event.answer = {"error_code": 99} if event.answer else None
    assert len(compare(SCRIPT, real, ours, limit=2)) == 2


# -- what is evened out


def test_other_scripts_topics_do_not_count_and_failed_ones_do() -> None:
    rows = [{"error_code": 0, "name": name} for name in ("d3-own", "shared-1-2", "d4-other")] + [{"error_code": 3, "name": "none"}]
    told = even(3, {"controller_id": 7, "topics": rows}, topics=[{"name": "x"}])
    assert [row["name"] for row in told["topics"]] == ["d3-own", "shared-1-2", "none"]
    assert told["controller_id"] is None


def test_topics_keep_their_order_where_they_were_asked_for() -> None:
    rows = [{"error_code": 0, "name": name} for name in ("d3-b", "d3-a")]
    asked = even(3, {"controller_id": 1, "topics": rows}, topics=[{"name": "x"}])
    everything = even(3, {"controller_id": 1, "topics": rows}, topics=None)
    assert [row["name"] for row in asked["topics"]] == ["d3-b", "d3-a"]
    assert [row["name"] for row in everything["topics"]] == ["d3-a", "d3-b"]


def test_a_producer_id_counts_as_given_or_not() -> None:
    assert even(22, {"producer_id": 4711})["producer_id"] == even(22, {"producer_id": 0})["producer_id"] == 0
    assert even(22, {"producer_id": -1})["producer_id"] == -1


def test_the_brokers_clock_is_left_out_of_a_refusal_and_the_transcript_is_not_changed() -> None:
    said = "Timestamp 5 is out of range. The timestamp should be within [100, 200]"
    answer = {"responses": [{"partition_responses": [{"record_errors": [{"batch_index_error_message": said}]}]}]}
    told = even(0, answer)
    assert told["responses"][0]["partition_responses"][0]["record_errors"][0]["batch_index_error_message"].endswith("within [...]")
    assert answer["responses"][0]["partition_responses"][0]["record_errors"][0]["batch_index_error_message"] == said


@for_each("key,code,same", [("g:AAAAAAAAAAAAAAAAAAAAAA:0", 15, True), ("g:AAAAAAAAAAAAAAAAAAAAAA:0", 42, False), ("g", 15, False)])
def test_a_share_coordinator_may_be_found_late_and_no_other(key: str, code: int, same: bool) -> None:
    found = {"key": key, "node_id": 1, "host": "h", "port": 9, "error_code": 0, "error_message": ""}
    refused = {"key": key, "node_id": -1, "host": "", "port": -1, "error_code": code, "error_message": ""}
    assert (even(10, {"coordinators": [found]}) == even(10, {"coordinators": [refused]})) is same


def test_what_is_no_request_is_as_it_is() -> None:
    assert canonical(pause(5), Event(), imagined(SCRIPT)) is None
