"""The states of a group: the tables that the coordinator dispatches on."""

from __future__ import annotations

from groupmock.core.group.states import ANSWERS, MAY_FOLLOW, Ask, State
from groupmock_codec.errors import ErrorCode

from .markdown import cell, notice, table


def text() -> str:
    """The state table that the coordinator dispatches on."""
    lines = [notice("states"), "# States of a group", ""]
    lines += ["The coordinator answers from these two tables; tests and this page read the same.", ""]
    lines += [
        "## What may follow",
        "",
        *table(["state", "next"], ([str(s), ", ".join(sorted(map(str, MAY_FOLLOW[s]))) or "nothing"] for s in State)),
    ]
    lines += ["", "## What is done and answered", "", "Error codes are Kafka's; *renews* means that the member's session starts again.", ""]
    rows = ([cell(str(ask)), *(_answer(state, ask) for state in State)] for ask in Ask)
    return "\n".join([*lines, *table(["asked", *map(str, State)], rows)]) + "\n"


def _answer(state: State, ask: Ask) -> str:
    answer = ANSWERS[state, ask]
    error = f", {answer.error} {ErrorCode(answer.error).name}" if answer.error else ""
    return f"{answer.do.value}{error}{', *renews*' if answer.renews else ''}"
