"""Write the page of a group's states: the tables that the coordinator dispatches on."""

from __future__ import annotations

from groupmock.core.groups.classic.states import ANSWERS, MAY_FOLLOW, Question, State
from groupmock_codec.error_codes import error_name

from .markdown import cell, notice, table

STATES = """
Error codes are Kafka's; *renews* means that the member's session starts again. A dash: an Empty group has no members, so that nobody can
ask this; a stale member id gets 25 before the state is looked at. A JoinGroup that starts a rebalance, or comes while one
collects, waits until the join phase ends. A group that is Dead is gone: nobody finds it.
""".strip()


def text() -> str:
    lines = [notice("states"), "# States of a group", ""]
    lines += ["The coordinator answers from these two tables; tests and this page read the same.", ""]
    lines += [
        "## What may follow",
        "",
        *table(["state", "next"], ([str(s), ", ".join(sorted(map(str, MAY_FOLLOW[s]))) or "nothing"] for s in State)),
    ]
    asked = [state for state in State if any(state is row for row, _ in ANSWERS)]
    rows = ([cell(str(ask)), *(_answer(state, ask) for state in asked)] for ask in Question)
    lines += ["", "## What is done and answered", "", STATES, ""]
    return "\n".join([*lines, *table(["asked", *map(str, asked)], rows)]) + "\n"


def _answer(state: State, ask: Question) -> str:
    answer = ANSWERS.get((state, ask))
    if answer is None:
        return "-"
    error = f", {answer.error} {error_name(answer.error)}" if answer.error else ""
    return f"{answer.do.value}{error}{', *renews*' if answer.renews else ''}"
