"""Run a command beside a mock cluster: groupmock run [OPTIONS] -- COMMAND [ARGUMENT ...]

The command finds the cluster in GROUPMOCK_BOOTSTRAP, KAFKA_BOOTSTRAP and KAFKA_BOOTSTRAP_SERVERS. Its status is passed on;
groupmock's own failures are 125, a COMMAND that cannot be started among them (bad use 2). The port is a free one unless --port is given.

With --plan stderr has the rules that never fired: what they break, COMMAND has not met. With --strict-plan the status is 1 then,
where COMMAND succeeded.

With --audit the clients are judged beside: at the end stderr has what they did wrong, and where COMMAND succeeded although a rule of
severity error was broken the status is 1. `groupmock explain RULE` says why a rule is there and how to mend what breaks it.

With --timeline what happened is drawn at the end, as `groupmock timeline` draws a journal; no --journal is needed for that.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from . import BAD_USE, BROKEN, OK
from ._options import ConfigError, add_options, bad_use, complain, resolve_arguments, tell_not_copied

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..server.running import Running

OWN_FAILURE: Final = 125
TAKES_COMMAND: Final = True
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
GROUP_S: Final = 1.0
TERMINAL_S: Final = 5.0
"""The time in seconds after which a SIGINT is passed on to a child that still runs. At a terminal, Ctrl-C has reached the child already."""
VARIABLES: Final = ("GROUPMOCK_BOOTSTRAP", "KAFKA_BOOTSTRAP", "KAFKA_BOOTSTRAP_SERVERS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    parser.add_argument("--strict-plan", action="store_true", help="1 where COMMAND succeeded although a rule of the plan never fired")
    parser.add_argument("--timeline", metavar="FILE", help="draw what happened: FILE.html, .svg or .perfetto.json (groupmock timeline)")
    parser.usage = "groupmock run [OPTIONS] -- COMMAND [ARGUMENT ...]"


def run(arguments: argparse.Namespace) -> int:
    if not arguments.command:
        complain("run", ConfigError("no command: groupmock run [OPTIONS] -- COMMAND [ARGUMENT ...]"))
        return BAD_USE
    try:
        config = resolve_arguments(arguments, port=0)
        if arguments.strict_plan and config.plan is None:
            raise ConfigError("--strict-plan needs a plan: --plan FILE, or the name of a ready one")
    except ConfigError as bad:
        complain("run", bad)
        return BAD_USE
    if arguments.timeline is not None:
        return _drawn(config, arguments)
    return _ran(config, arguments)


def _drawn(config: Config, arguments: argparse.Namespace) -> int:
    """Run the command and draw the journal, which is in a temporary file if no path was given."""
    import tempfile

    from msgspec.structs import replace

    from ..timeline.drawing import of_journal, save
    from ._picture import form_for

    try:
        form = form_for(arguments.timeline)
    except ValueError as bad:
        complain("run", ConfigError(f"--timeline {bad}"))
        return BAD_USE
    with tempfile.TemporaryDirectory(prefix="groupmock-run-") as folder:
        kept = config if config.journal is not None else replace(config, journal=os.path.join(folder, "run.jsonl"))
        journals: list[str] = []
        status = _ran(kept, arguments, journals)
        try:
            for journal in journals:
                save(of_journal(journal), arguments.timeline, form)
        except (OSError, ValueError) as trouble:
            complain("run", RuntimeError(f"--timeline {arguments.timeline}: {getattr(trouble, 'strerror', None) or trouble}"))
            return OWN_FAILURE
    return status


def _ran(config: Config, arguments: argparse.Namespace, journals: list[str] | None = None) -> int:
    from ..net.loops import run as run_loop
    from ..server.running import CannotStart

    try:
        return run_loop(_run(config, arguments.command, arguments.strict_plan, journals))
    except bad_use(config) as bad:
        complain("run", bad)
        return BAD_USE
    except CannotStart as cannot:
        complain("run", cannot)
        return OWN_FAILURE


async def _run(config: Config, command: list[str], strict: bool, journals: list[str] | None) -> int:
    """Start the cluster and run the command. `journals` receives the path of the journal at the end of the run."""
    from ..net.loops import shorten_collections
    from ..server.assembly import start

    running = await start(config, stories=config.control is not None)
    tell_not_copied("run", running.not_copied)
    control = None
    if config.control is not None:
        from ..control.start import start_control

        control = await start_control(config, running)
    shorten_collections()
    environment = os.environ | dict.fromkeys(VARIABLES, running.bootstrap)
    if control is not None:
        environment |= {"GROUPMOCK_CONTROL_URL": control.url} | ({"GROUPMOCK_TOKEN": config.token} if config.token else {})
    try:
        status = await status_of(command, environment)
    except OSError as trouble:
        if control is not None:
            await control.close()
        await running.close()
        complain("run", RuntimeError(f"cannot run {command[0]}: {trouble.strerror}"))
        return OWN_FAILURE
    if control is not None:
        await control.close()
        running = control.running  # A reset replaces the `Running` object.
    idle = running.never_fired() if config.plan is not None else []
    trouble_at_end = await running.close()
    if trouble_at_end is not None:
        complain("run", trouble_at_end)
        return OWN_FAILURE
    if journals is not None and running.journal is not None:
        journals.append(running.journal)
    for report in idle:
        complain("run", RuntimeError(report.sentence))
    if strict and idle and status == OK:
        status = BROKEN
    return _judged(running, status) if running.audit_sink is not None else status


def _judged(running: Running, status: int) -> int:
    """Report on stderr what the audit found wrong with the clients, and return the command's status, or 1 if a rule was broken."""
    from ..audit.forms import written
    from ..audit.report import Source, report_of
    from ..audit.verdicts import together

    audit_sink, config = running.audit_sink, running.config
    assert audit_sink is not None
    audit = together([*running.earlier, audit_sink.audit()])
    source = Source(
        name=running.journal or "this run", audit=audit, path=running.journal, run=config.run or "", profile=config.profile.name
    )
    report = report_of([source], audit_sink.waivers.notices() if audit_sink.waivers is not None else ())
    print(written("text", report), end="", file=sys.stderr)
    return BROKEN if status == OK and report.broken else status


async def status_of(command: list[str], environment: dict[str, str]) -> int:
    """Run a command and return its status as a shell gives it. Raises OSError. From now on signals are passed to the command, even while
    it is being started."""
    loop, early = asyncio.get_running_loop(), list[int]()
    for number in SIGNALS:
        loop.add_signal_handler(number, early.append, number)
    child = await asyncio.create_subprocess_exec(*command, env=environment)
    for number in SIGNALS:
        loop.add_signal_handler(number, _pass_on, child, number)
    for sent in early:
        _pass_on(child, sent)
    status = await child.wait()
    return status if status >= 0 else 128 - status


def _pass_on(child: asyncio.subprocess.Process, number: int) -> None:
    """Pass a signal on to the child, which decides how to react; groupmock ends when the child has ended. Ctrl-C reaches the whole
    process group, and a second SIGINT would interrupt what the child does about the first. A SIGINT that was sent to groupmock alone
    looks the same, so the child gets it only if it still runs after a while."""
    if number == signal.SIGINT:
        after = TERMINAL_S if _at_a_terminal() else GROUP_S
        asyncio.get_running_loop().call_later(after, _send, child, number)
    else:
        _send(child, number)


def _send(child: asyncio.subprocess.Process, number: int) -> None:
    if child.returncode is None:
        child.send_signal(number)


def _at_a_terminal() -> bool:
    """True if this process is in the foreground of a terminal, which sends Ctrl-C to the whole process group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)
