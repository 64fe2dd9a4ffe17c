"""One table lists all kinds of timers, and every text about timers uses the table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_type_hints

import pytest
from core_world import World

import groupmock
from groupmock.control.queries import Filter
from groupmock.core.groups.kinds import kinds
from groupmock.core.steering.clock import JumpTimer
from groupmock.core.timers import NAMES
from groupmock.faults.kinds.jump_timer import JumpTimer as JumpTimerFault

PRODUCT: Final = Path(groupmock.__file__).parent
ANY: Final = "|".join(NAMES)
LIST: Final = re.compile(rf"\b(?:{ANY})(?:(?:, | or | and |, or |, and )(?:{ANY})\b){{2,}}")
OF_A_FAULT: Final = "join, sync or session"
"""The timers of a fault rule, which knows group and member of the request but no partition, ticket or node."""


def told(struct: type, field: str) -> str:
    """Return the description of a field."""
    (mark,) = get_type_hints(struct, include_extras=True)[field].__metadata__
    return str(mark.description)


def texts() -> Iterator[tuple[str, str]]:
    """Yield location and text of every string in the product, including docstrings."""
    for file in sorted(PRODUCT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{file.relative_to(PRODUCT).as_posix()}:{node.lineno}", node.value


def test_every_timer_of_the_table_is_handled_and_no_other() -> None:
    of_groups = {name for kind in kinds() for name in kind.timers}
    assert of_groups.isdisjoint(World.make(real_topics=True).core.timer_handlers)
    assert of_groups | set(World.make(real_topics=True).core.timer_handlers) == set(NAMES)


@pytest.mark.parametrize("struct", [JumpTimer, Filter])
def test_who_asks_for_a_timer_is_told_all_of_them(struct: type) -> None:
    assert set(re.findall(rf"\b(?:{ANY})\b", told(struct, "timer"))) == set(NAMES)


def test_a_fault_rule_jumps_timers_of_the_table() -> None:
    assert set(re.findall(r"\w+", told(JumpTimerFault, "timer"))) - {"or"} <= set(NAMES)


def test_no_text_lists_the_timers_by_hand() -> None:
    """Three handwritten lists of timers, in the effect, the row and the command, were each incomplete."""
    assert [f"{place} {found[0]}" for place, text in texts() if (found := LIST.search(text)) and found[0] != OF_A_FAULT] == []
