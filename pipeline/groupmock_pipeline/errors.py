"""Errors that ask the user to change something."""

from __future__ import annotations

from groupmock_codec.extras import pip_install


class BadInput(ValueError):
    """The input or an option cannot be used. The message names the place and the remedy. Exit code 2."""


class Overtaken(BadInput):
    """Another job wrote to the table in the meantime."""

    def __init__(self, path: str) -> None:
        super().__init__(f"another job wrote to {path} at the same time and was first: nothing of this one is there; run it again")


class SparkCannotStart(RuntimeError):
    """Spark or Java is missing or does not start. The message names the remedy. Exit code 3."""


def lacks(what: str, extra: str = "pipeline") -> SparkCannotStart:
    """Make the error for a missing package of the extra."""
    return SparkCannotStart(f"the pipeline needs {what}: {pip_install(*extra.split(','))}")


def lacks_on_workers(module: str, sent: bool) -> SparkCannotStart:
    """Make the error for a module that Spark's Python workers lack on their machines. `sent` says that our packages were shipped there."""
    remedy = "--ship sends it" if module.startswith("groupmock") and not sent else "install it there (docs/how-to/pipeline.md#what-travels)"
    return SparkCannotStart(f"Spark's Python workers have no {module}: {remedy}")
