"""A script survives the way to JSON and back, and its text shows the requests and answers."""

from __future__ import annotations

from cases import for_each

from groupmock.config.profiles import load
from groupmock_clients.probe.language.exchange import Send, Step
from groupmock_codec.api_keys import OFFSET_FETCH
from tools.fidelity.generated.exchange_text import as_text
from tools.fidelity.generated.script import Script, TopicNeed, act, ending, given, group, key_of, pause, raw, request, version_of
from tools.fidelity.generated.transcript import Transcript
from tools.fidelity.guided.core_player import play


def script(*steps: Step, family: str = "groups", topics: tuple[TopicNeed, ...] = ()) -> Script:
    return Script(family, 5, "4.3", "plain", list(steps), 2, list(topics))


def lines(*steps: Step, transcript: Transcript | None = None) -> list[str]:
    """Return the text of the steps without the lines that every script has: names, the clock and the last look at the groups."""
    body = as_text(script(*steps), transcript).partition("\n\n")[2].splitlines()
    return [line for line in body if not line.startswith(("let ", "mark ", "pause until ")) and "ApiVersions" not in line]


@for_each(
    ("step", "line"),
    [
        (pause(450), "pause 450"),
        (act("A", "drops"), "A drops"),
        (act("A/2", "resets"), "A/2 resets"),
        (act("B", "reconnects"), "B reconnects"),
        (raw("A", b"\0\xff"), 'A: frame x"00ff"'),
        (raw("A", b"\0\xff", framed=False), 'A: bytes x"00ff"'),
        (
            request("A", 12, 4, {"group_id": group(1), "member_id": group(2)}),
            "A: Heartbeat v4 group_id=$group generation_id=0 member_id=$group2 group_instance_id=null",
        ),
        (
            request("A", 12, 4, {"member_id": "a b", "group_id": group(7), "generation_id": -3}),
            'A: Heartbeat v4 group_id=$group7 generation_id=-3 member_id="a b" group_instance_id=null',
        ),
        (
            request("A", 12, 2, {"group_instance_id": "i", "member_id": "null"}),
            'A: Heartbeat v2 group_id="" generation_id=0 member_id="null"',
        ),
        (
            request("A", 12, 0, {"member_id": 'a "quoted" $', "group_id": "x"}, client_id="d"),
            'A: Heartbeat v0 client_id=d group_id=x generation_id=0 member_id="a \\"quoted\\" $"',
        ),
        (request("A", 13, 4, {"members": []}), 'A: LeaveGroup v4 group_id="" members=[]'),
        (request("A", 15, 0), "A: DescribeGroups v0 groups=[]"),
    ],
    ids=str,
)
def test_a_step_is_a_line(step: Step, line: str) -> None:
    assert lines(step) == [line]


def test_answers_stand_behind_their_requests_and_the_ending_is_shown() -> None:
    told = request("A", 12, 4, {"group_id": group(1), "generation_id": 1, "member_id": "m"})
    shown = lines(told, transcript=play(script(told)))
    assert shown[0].endswith(" -> 25")
    assert [line.split()[:2] for line in shown[1:]] == [["End:", "DescribeGroups"], ["End:", "ListGroups"], ["End:", "OffsetFetch"]]


def test_a_play_that_was_stopped_says_why() -> None:
    played = play(script(pause(1)))
    played.stopped = "the broker does not answer"
    assert lines(pause(1), transcript=played)[-1] == "# stopped: the broker does not answer"


def test_the_heading_says_what_makes_it_again() -> None:
    text = as_text(script(topics=(TopicNeed(3),)))
    assert text.startswith('exchange groups-5 "Generated: family groups, seed 5, release 4.3"\n')
    assert "\ntopics: t1:3\n" in text


# -- what is asked at the end


VERSIONS = load("kafka-4.3").versions


def test_a_script_about_groups_ends_with_their_state_and_offsets() -> None:
    asked = ending(script(), VERSIONS)
    assert [(key_of(step), version_of(step)) for step in asked if isinstance(step, Send)] == [(15, 6), (16, 5), (9, 9)]


def test_before_version_8_offsets_are_asked_group_by_group() -> None:
    asked = ending(script(), {**VERSIONS, OFFSET_FETCH: (1, 7)})
    assert [given(step, "group_id") for step in asked if isinstance(step, Send)][2:] == [group(1), group(2)]


def test_a_script_about_the_log_ends_with_both_ends_and_all_that_is_stored() -> None:
    asked = ending(script(family="log", topics=(TopicNeed(2), TopicNeed(1))), VERSIONS)
    assert [(key_of(step), version_of(step)) for step in asked if isinstance(step, Send)] == [(3, 12), (2, 6), (2, 6), (1, 11), (1, 11)]


def test_bytes_have_no_ending() -> None:
    assert ending(script(family="bytes"), VERSIONS) == []


@for_each(("topics", "about"), [((), "groups"), ((TopicNeed(),), "groups"), ((TopicNeed(own=True),), "log")])
def test_what_people_wrote_is_about_the_log_when_its_topics_are_its_own(topics: tuple[TopicNeed, ...], about: str) -> None:
    assert script(family="exchanges", topics=topics).about == about


def test_clients_come_in_order_of_appearance_and_once() -> None:
    assert script(request("B", 12, 4), pause(1), act("A", "drops"), request("B", 12, 4, link="B/2")).clients() == ["B", "A"]
