"""The command line of every job, for `groupmock pipeline JOB IN OUT`, `python -m groupmock_pipeline` and spark-submit."""

from __future__ import annotations

import argparse
import ast
import logging
import re
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, Final, NoReturn

from groupmock.text.printable import lines, one_line

from . import jobs
from .errors import BadInput, SparkCannotStart, lacks, lacks_on_workers
from .interrupts import came

OK: Final = 0
BAD_USE: Final = 2
CANNOT_START: Final = 3
INTERRUPTED: Final = 130
LACKING: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
"""Matches the message of a Spark Python worker that lacks a module."""

log = logging.getLogger("groupmock_pipeline")


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that reports bad use in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USE, one_line(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")


def about(job: str) -> str:
    """Return the docstring of a job without importing Spark."""
    spec = find_spec(f"{jobs.__name__}.{job}")
    assert spec is not None and spec.origin is not None
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or "").strip()


def overview() -> str:
    """Return every job with the first line of its docstring."""
    return "\n".join(f"  {job:16} {about(job).splitlines()[0]}" for job in jobs.names())


def main(words: Sequence[str], prog: str) -> int:
    """Run one job and return the exit code: 0 done, 2 bad use or input, 3 Spark does not start or a package is missing."""
    if not words or words[0].startswith("-"):
        return _top(words, prog)
    if words[0] not in jobs.names():
        return _complain(BAD_USE, f"{prog}: no job {words[0]!r}: there are {', '.join(jobs.names())}")
    if find_spec("pyspark") is None:
        return _complain(CANNOT_START, f"{prog}: {lacks('Spark')} (in a container: the image's target `pipeline`)")
    try:
        return _run(words[0], words[1:], f"{prog} {words[0]}")
    except ModuleNotFoundError as absent:  # Spark is installed without the rest of the extra, as on a machine of a cluster.
        if absent.name is None or absent.name.startswith("groupmock"):
            raise
        return _complain(CANNOT_START, f"{prog} {words[0]}: {lacks(absent.name)}")


def _top(words: Sequence[str], prog: str) -> int:
    parser = Parser(
        prog=prog, usage=f"{prog} JOB IN OUT [OPTION ...]", description=__doc__, epilog=f"jobs:\n{overview()}\n\n`JOB --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    if not words:
        parser.error(f"which job? There are {', '.join(jobs.names())}")
    parser.parse_args(list(words))
    return OK


def parse(name: str, words: Sequence[str], prog: str) -> argparse.Namespace:
    """Parse the arguments of a job. Exits with 2 and one line for bad use."""
    job = jobs.job(name)
    parser = Parser(prog=prog, description=about(name), formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    read, written = getattr(job, "INPUT", "the lake to read"), getattr(job, "OUTPUT", "the lake to write (it may be IN)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", help="where Spark runs: local[2], spark://..., yarn (default local[*]; spark-submit's)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark (repeatable)")
    parser.set_defaults(input=None, remote=None, ship=False, explain=False)
    if read is not None:
        parser.add_argument("input", metavar="IN", help=read)
        where.add_argument("--remote", metavar="URL", help="the Spark Connect server that runs it: sc://HOST[:PORT]")
        parser.add_argument("--ship", action="store_true", help="send our packages to Spark's Python workers: groupmock is not there")
        parser.add_argument("--explain", action="store_true", help="print Spark's plan of every table that is written")
    if written is not None:
        parser.add_argument("output", metavar="OUT", help=written)
    if hasattr(job, "add_arguments"):
        job.add_arguments(parser)
    arguments = parser.parse_args(list(words))
    if written is None:
        arguments.output = arguments.input
    return arguments


def _run(name: str, words: Sequence[str], prog: str) -> int:
    arguments = parse(name, words, prog)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Printable("%(message)s"))
    handler.addFilter(_of_no_interrupt)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    log.setLevel(logging.INFO)
    try:
        settings = _settings(arguments.set) | ({"groupmock.explain": "true"} if arguments.explain else {})
        return _on_spark(name, arguments, settings)
    except BadInput as problem:
        return _complain(BAD_USE, f"{prog}: {problem}")
    except SparkCannotStart as problem:
        return _complain(CANNOT_START, f"{prog}: {problem}")
    except KeyboardInterrupt:
        return _complain(INTERRUPTED, f"{prog}: interrupted; what is in the lake is whole")


def _of_no_interrupt(record: logging.LogRecord) -> bool:
    """Return False for log records about Ctrl-C, so that they are dropped. Py4J logs KeyboardInterrupt with its traceback, and the
    failure of the command during which PySpark's signal handler sent another one (py4j.java_gateway.GatewayClient.send_command)."""
    error = record.exc_info[1] if record.exc_info else None
    reentrant = error is not None and isinstance(error.__context__, RuntimeError)
    return error is None or not (came() or reentrant or isinstance(error, KeyboardInterrupt))


class _Printable(logging.Formatter):
    """A formatter that escapes control characters, because names of files, runs and groups come from journals that others wrote."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # The module `logging` prescribes this method name.
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # The module `logging` prescribes this method name.
        return lines(super().formatException(ei))


def _complain(code: int, problem: str) -> int:
    print(one_line(problem), file=sys.stderr)
    return code


def _on_spark(name: str, arguments: argparse.Namespace, settings: dict[str, str]) -> int:
    from pyspark.errors import PythonException

    from .interrupts import recorded_sigint
    from .preflight import check_master, check_places, check_remote, input_size
    from .progress import progress_shown
    from .session import session
    from .shipping import packages_shipped

    check_master(arguments.master)
    check_remote(arguments.remote)
    check_places(arguments, settings)
    job = jobs.job(name)
    if hasattr(job, "settings"):
        settings = job.settings(arguments) | settings
    if hasattr(job, "load"):
        Thread(target=job.load, args=[arguments], daemon=True).start()  # The thread imports the job's modules while Java starts.
    spark = session(name, arguments.master, settings, input_size(arguments, settings), arguments.remote)
    begun = time.monotonic()
    try:
        with recorded_sigint(), progress_shown(spark, name), packages_shipped(spark) if arguments.ship else nullcontext():
            job.run(spark, arguments)
    except PythonException as failure:
        absent = LACKING.search(str(failure))
        if absent is None:
            raise
        raise lacks_on_workers(absent[1], arguments.ship) from failure
    finally:
        with suppress(ConnectionError):  # Stopping the session fails if Java has already ended.
            spark.stop()
    log.info("%s: done in %.1f s", name, time.monotonic() - begun)
    return OK


def _settings(words: Sequence[str]) -> dict[str, str]:
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise BadInput(f"--set {word}: write KEY=VALUE, as in --set spark.driver.memory=8g")
        settings[key] = value
    return settings
