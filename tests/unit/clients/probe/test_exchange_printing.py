"""The steps of a program are printed in the handwritten form and parse to the same steps."""

from __future__ import annotations

import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange import Act, Command, Exchange, Let, Pause, Raw, Send, Step
from groupmock_clients.probe.language.parser import read_one
from groupmock_clients.probe.language.printing import head_lines, step_text
from groupmock_clients.probe.language.syntax import Capture, FunctionCall, Literal, Ref, Sequence, Struct, Text

VALUES = (
    ("number", Literal(-3)),
    ("nothing", Literal(None)),
    ("bool", Literal(True)),
    ("bare", Literal("range")),
    ("words", Literal('a "b" \\ \n\t #')),
    ("like_null", Literal("null")),
    ("empty", Literal("")),
    ("data", Literal(b"\0\xff")),
    ("text", Text("${group}-x1")),
    ("ref", Ref("A", "generation", -1)),
    ("list", Sequence((Ref("group", None, 0), Literal(1)))),
    ("struct", Struct((("name", Ref("t1", None, 0)), ("topic_id", Ref("t1", "id", 0))))),
    ("call", FunctionCall("led", (Literal("A"), Literal("B")))),
)
STEPS: tuple[Step, ...] = (
    Let(name="group2", value=Text("$stem-2")),
    Send(member="A/2", api="JoinGroup", version=Literal(9), fields=VALUES, bound="first"),
    Send(member="A", api="Heartbeat", version=None, fields=()),
    Raw(member="A", framed=True, parts=(Literal(b"\0"),)),
    Raw(member="A/2", framed=False, parts=(Literal(b"\0"), FunctionCall("i16", (Literal(3),)))),
    Pause(ms=Literal(450)),
    Act(member="A/2", verb="drops"),
    Act(member="B", verb="is", other="A"),
)
EXCHANGE = Exchange(
    "groups-7", "Generated", "p", rows=("generated-groups",), releases=("4.3",), stages=("tcp",), settings={"group.max.size": "3"},
    topics={"t1": 2, "t2": 1}, own={"t2": {"retention.ms": "-1"}}, members={"*": (("client_id", Literal("c")),)}, steps=STEPS,
)  # fmt: skip


def test_an_exchange_is_read_back_as_it_was() -> None:
    read = read_one("p", "\n".join([*head_lines(EXCHANGE), "", *map(step_text, STEPS)]))
    assert read.steps == STEPS
    assert vars(read) | {"place": ""} == vars(EXCHANGE) | {"place": ""}


def test_a_text_that_would_be_read_as_a_reference_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'a\$b' cannot be said: a \$ in front of a word begins a reference"):
        step_text(Send(member="A", api="Heartbeat", version=None, fields=(("member_id", Literal("a$b")),)))


PATTERN = Send(member="A", api="X", version=None, fields=(("f", Capture("x")),))


@for_each("step", [Command(name="unload", fields=()), Pause(ms=Literal(1), since="T"), PATTERN])
def test_what_no_program_writes_is_refused(step: Step) -> None:
    with pytest.raises(ValueError, match=r"no program writes|is no value"):
        step_text(step)
