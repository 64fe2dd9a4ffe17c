"""What a job says when its user has to change something."""

from __future__ import annotations


class BadInput(ValueError):
    """The input or an option cannot be used: one sentence that names the place and the remedy. Exit code 2."""


class NoColumns(BadInput):
    """A table without a line, of which nothing says what columns it has."""


class SparkCannotStart(RuntimeError):
    """Spark or Java is not there or does not start: one sentence that names the remedy. Exit code 3."""


def lacks(what: str, extra: str = "pipeline") -> SparkCannotStart:
    """What the extra brings is not there."""
    return SparkCannotStart(f"the pipeline needs {what}: pip install 'groupmock[{extra}]'")
