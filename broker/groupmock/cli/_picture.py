"""Choose the form of a picture, for `timeline` and `run --timeline`."""

from __future__ import annotations

from typing import Final

FORMS: Final = ("html", "svg", "perfetto")


def form_for(output: str, form: str | None = None) -> str:
    """Return the given form, or the form that the ending of the file name means. Raises ValueError."""
    from ..journal.source import STANDARD
    from ..timeline.drawing import form_of

    if form is not None:
        return form
    if output == STANDARD:
        raise ValueError("standard output has no name that says a form: --format html, svg or perfetto")
    return form_of(output)
