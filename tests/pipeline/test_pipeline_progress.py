"""What a long job says of itself."""

from __future__ import annotations

import io

from groupmock_pipeline.progress import ERASE, Progress, Stage, Told


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_has_stage_tasks_rows_and_how_fast_they_come() -> None:
    progress = Progress("faults")
    assert progress.line([], 0.0) is None
    assert progress.line([Stage(3, 1, 8)], 0.0) == "faults: stage 3: 1 of 8 tasks"
    assert progress.line([Stage(3, 2, 8, 1000)], 10.0) == "faults: stage 3: 2 of 8 tasks, 1,000 rows, 100 rows/s"
    later = [Stage(3, 8, 8, 4000), Stage(4, 0, 2, 500)]
    assert progress.line(later, 20.0) == "faults: stages 3, 4: 8 of 10 tasks, 4,500 rows, 350 rows/s"


def test_on_a_terminal_one_line_is_rewritten_and_leaves_nothing() -> None:
    for out, shown in ((Terminal(), f"{ERASE}one{ERASE}two{ERASE}"), (io.StringIO(), "one\ntwo\n")):
        page = Told(out)
        page.write("one")
        page.write("two")
        page.erase()
        assert out.getvalue() == shown
