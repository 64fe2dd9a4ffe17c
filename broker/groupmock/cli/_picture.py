"""What `timeline` and `run --timeline` share: in which form a picture is asked for. No verb of its own."""

from __future__ import annotations

from typing import Final

FORMS: Final = ("html", "svg", "perfetto")


def form_for(output: str, form: str | None = None) -> str:
    """What was said, else what the file's name says. Raises ValueError."""
    from ..journal.source import STANDARD
    from ..timeline.drawing import form_of

    if form is not None:
        return form
    if output == STANDARD:
        raise ValueError("standard output has no name that says a form: --format html, svg or perfetto")
    return form_of(output)
