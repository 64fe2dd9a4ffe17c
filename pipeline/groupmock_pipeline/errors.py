"""What a job says when its user has to change something."""

from __future__ import annotations

from groupmock_codec.extras import pip_install


class BadInput(ValueError):
    """The input or an option cannot be used: one sentence that names the place and the remedy. Exit code 2."""


class Overtaken(BadInput):
    """Somebody else wrote to the table meanwhile."""

    def __init__(self, path: str) -> None:
        super().__init__(f"another job wrote to {path} at the same time and was first: nothing of this one is there; run it again")


class SparkCannotStart(RuntimeError):
    """Spark or Java is not there or does not start: one sentence that names the remedy. Exit code 3."""


def lacks(what: str, extra: str = "pipeline") -> SparkCannotStart:
    """What the extra brings is not there."""
    return SparkCannotStart(f"the pipeline needs {what}: {pip_install(*extra.split(','))}")


def lacks_on_workers(module: str, sent: bool) -> SparkCannotStart:
    """Spark's Python workers, on machines of their own, do not have it; `sent`: ours went there."""
    remedy = "--ship sends it" if module.startswith("groupmock") and not sent else "install it there (docs/how-to/pipeline.md#what-travels)"
    return SparkCannotStart(f"Spark's Python workers have no {module}: {remedy}")
