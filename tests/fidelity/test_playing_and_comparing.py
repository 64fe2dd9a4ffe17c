from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange import Send
from groupmock_clients.probe.language.syntax import Sequence
from groupmock_codec.messages.k11_join_group import JoinGroupResponse
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from tools.fidelity.compare.canonical import compare
from tools.fidelity.compare.golden import Golden, choose, load, save
from tools.fidelity.compare.recorded_differences import recorded
from tools.fidelity.compare.shrink import shrink
from tools.fidelity.generated.answers_json import NULL_NOT_ALLOWED, as_json
from tools.fidelity.generated.exchange_text import as_text
from tools.fidelity.generated.memory import Memory
from tools.fidelity.generated.script import Script, TopicNeed, act, client_of, given, group, pause, request, told, written
from tools.fidelity.generated.transcript import ANSWERED, PARKED, SENT, SKIPPED, Transcript, imagined
from tools.fidelity.guided.core_player import CorePlayer, play, replay

RANGE = [{"name": "range", "metadata": bytes(2)}]


def join(client: str = "A", version: int = 9, **fields: Any) -> Send:
    usual = {"group_id": group(1), "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000, "protocol_type": "range"}
    return request(client, 11, version, {**usual, "member_id": told(client, "member_id"), "protocols": RANGE, **fields})


def sync(client: str = "A", version: int = 4) -> Send:
    mine = {"generation_id": told(client, "generation"), "member_id": told(client, "member_id")}
    return request(client, 14, version, {"group_id": group(1), **mine, "assignments": written("led", client, "A", "B")})


def script(*steps: Any, settings: str = "plain") -> Script:
    return Script("groups", 7, "4.3", settings, list(steps), 1, [TopicNeed(4)])


ONE_MEMBER = script(join(member_id=""), join(), pause(450), sync())


def changed(transcript: Transcript, step: int, **fields: Any) -> Transcript:
    other = deepcopy(transcript)
    other.events[step] = msgspec.structs.replace(other.events[step], **fields)
    return other


# -- playing


def test_a_member_joins_and_leads() -> None:
    events = play(ONE_MEMBER).events
    assert [event.status for event in events[:4]] == [ANSWERED, ANSWERED, SENT, ANSWERED]
    assert events[0].answer is not None and events[0].answer["error_code"] == 79
    assert events[1].answer is not None and events[1].answer["generation_id"] == 1
    assert events[1].after == 1
    assert events[3].answer is not None and events[3].answer["assignment"] == {"bytes": "MSBB"}


def test_the_ending_describes_lists_and_fetches() -> None:
    events = play(ONE_MEMBER).events
    assert events[4].answer is not None and events[4].answer["groups"][0]["group_state"] == "Stable"
    assert events[5].answer is not None and [one["group_id"] for one in events[5].answer["groups"]] == ["d7-1"]
    assert len(events) == 7


def test_ids_are_those_that_the_broker_drew() -> None:
    first = play(ONE_MEMBER)
    drawn = "11111111-2222-4333-8444-555555555555"
    again = replay(ONE_MEMBER, changed(first, 0, drew=[drawn]))
    assert again.events[0].answer is not None and again.events[0].answer["member_id"] == f"c-{drawn}"


def test_what_waits_behind_a_parked_request_was_built_when_it_was_sent() -> None:
    told = play(script(join(version=3, member_id=""), sync(version=0), pause(450))).events
    assert told[1].answer is not None and told[1].answer["error_code"] == 25, "at that time the client had no id"


def test_a_dropped_connections_answers_are_lost() -> None:
    events = play(script(join(version=3, member_id=""), act("A", "drops"), pause(450))).events
    assert (events[0].status, events[0].answer) == (SENT, None)


def test_a_join_that_nothing_ends_is_parked_to_the_end() -> None:
    again = replace(join(), member="A/2")
    events = play(script(join(member_id=""), join(), again, pause(450))).events
    assert [event.status for event in events[1:3]] == [PARKED, ANSWERED]


def test_a_skipped_step_is_not_sent() -> None:
    player = CorePlayer(ONE_MEMBER, imagined(ONE_MEMBER))
    assert player.play(ONE_MEMBER.steps[0], 1.0, skip=True).status == SKIPPED
    assert player.core.cluster.groups.find("d7-1") is None


# -- comparing


@for_each(
    ("fields", "path"),
    [
        ({"status": PARKED, "answer": None}, "status"),
        ({"after": 3}, "answered after step"),
        ({"answered_ms": 2000.0}, "answered at ms"),
        ({"answered_ms": 300.0}, "answered at ms"),
    ],
)
def test_what_differs_is_told(fields: dict[str, Any], path: str) -> None:
    first = play(ONE_MEMBER)
    (found,) = compare(ONE_MEMBER, changed(first, 1, **fields), first)
    assert (found.step, found.path, found.key, found.version) == (1, path, 11, 9)


def test_a_differing_field_is_named() -> None:
    first = play(ONE_MEMBER)
    answer = deepcopy(first.events[1].answer)
    assert answer is not None
    answer["members"][0]["group_instance_id"] = "x"
    (found,) = compare(ONE_MEMBER, changed(first, 1, answer=answer), first)
    assert (found.path, found.real, found.ours) == ("members[0].group_instance_id", "x", None)


def test_other_scripts_groups_do_not_matter() -> None:
    first = play(ONE_MEMBER)
    answer = deepcopy(first.events[5].answer)
    assert answer is not None
    answer["groups"].insert(0, {**answer["groups"][0], "group_id": "of somebody else"})
    assert compare(ONE_MEMBER, changed(first, 5, answer=answer), first) == []


def test_a_play_that_was_stopped_differs() -> None:
    first = play(ONE_MEMBER)
    stopped = msgspec.structs.replace(first, events=first.events[:2], stopped="the broker does not answer")
    (found,) = compare(ONE_MEMBER, stopped, first)
    assert (found.step, found.path) == (-1, "stopped")


# -- scripts


def test_a_script_survives_its_text() -> None:
    assert Script.read(ONE_MEMBER.text()) == ONE_MEMBER


def test_a_field_that_no_version_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="JoinGroup requests have no field nonsense"):
        request("A", 11, 9, {"nonsense": 1})


def test_a_null_that_cannot_be_written_shows() -> None:
    shown = as_json(JoinGroupResponse, 6)(JoinGroupResponse(protocol_name=None))
    assert shown["protocol_name"] == NULL_NOT_ALLOWED
    assert "protocol_type" not in shown


def test_unknown_names_are_the_plays_own() -> None:
    memory = Memory(ONE_MEMBER, imagined(ONE_MEMBER))
    asked = request("A", 12, 4, {"group_id": group(9), "generation_id": told("A", "generation", 1), "member_id": told("B", "leader")})
    assert memory.request(asked).message == HeartbeatRequest(group_id="d7-no-group-9", generation_id=0, member_id="")


def test_what_no_answer_has_told_is_left_at_its_default() -> None:
    memory = Memory(ONE_MEMBER, imagined(ONE_MEMBER))
    asked = request("P", 26, 4, {"transactional_id": "x", "producer_id": told("P", "producer_id", 7), "committed": True})
    assert memory.request(asked).message == EndTxnRequest(transactional_id="x", committed=True)


def test_text_says_who_sends_what() -> None:
    head, _, body = as_text(ONE_MEMBER, play(ONE_MEMBER)).partition("\n\n")
    assert head.startswith("exchange groups-7 ")
    lines = body.splitlines()
    assert lines[:2] == ["mark begin", "pause until 2 since begin"]
    assert lines[2].startswith("A: JoinGroup v9 group_id=$group ") and " -> 79 " in lines[2]
    assert " -> 0 generation_id=1 " in lines[4] and lines[4].endswith(" after 400")
    assert lines[5] == "pause until 456 since begin"
    assert lines[6].startswith("A: SyncGroup v4 group_id=$group generation_id=$A.generation member_id=$A.member_id ")


# -- shrinking, keeping


def test_shrinking_keeps_what_matters() -> None:
    long = script(join("B", member_id=""), pause(5), join(member_id=""), join("B"), pause(7), sync("B"))

    def differs(smaller: Script) -> bool:
        return any(isinstance(step, Send) and client_of(step) == "A" for step in smaller.steps)

    small = shrink(long, differs)
    assert [(client_of(step), given(step, "protocols")) for step in small.steps if isinstance(step, Send)] == [("A", Sequence(()))]
    assert len(small.steps) == 1


def test_the_choice_prefers_what_shows_something_new(tmp_path: Any) -> None:
    plays = [Golden(one, play(one)) for one in (ONE_MEMBER, ONE_MEMBER, script(sync()))]
    chosen = choose(plays, 2)
    assert {len(one.script.steps) for one in chosen} == {4, 1}
    save(tmp_path, chosen)
    assert list(load(tmp_path, "4.3", "groups", "plain")) == chosen


def test_recorded_differences_have_reasons_and_stay_few() -> None:
    rows = recorded()
    assert all(len(row.reason) > 20 for row in rows)
    assert len({row.id for row in rows}) == len(rows)
    for release in ("4.3", "3.9"):
        assert sum(release in row.releases for row in rows) <= 10
    assert not [row.id for row in rows if "4.3" in row.releases and row.family == "groups"]
