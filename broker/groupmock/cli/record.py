"""Record what real consumers and a real cluster say to each other: groupmock record --upstream HOST:PORT --journal FILE [-- COMMAND ...]

Stands between them: clients connect here, every address that they are told is one of ours, the journal is of the mock's own kind, so that
audit, timeline and pipeline read it. Prints ONE JSON line on stdout when it answers, as `serve` does, and records until SIGINT or SIGTERM.
With a COMMAND it prints nothing, tells it the addresses in GROUPMOCK_BOOTSTRAP, KAFKA_BOOTSTRAP and KAFKA_BOOTSTRAP_SERVERS, ends when that
ends and passes its status on (own failures: 125). At the end a line on stderr counts connections, requests and groups.
docs/how-to/record.md says more.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Final

from ..config.resolve import ConfigError
from . import BAD_USE, CANNOT_START, OK
from ._options import complain

if TYPE_CHECKING:
    from ..record.proxy import Proxy
    from ..record.settings import Settings

TAKES_COMMAND: Final = True
OWN_FAILURE: Final = 125


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "groupmock record --upstream HOST:PORT[,HOST:PORT...] --journal FILE [OPTIONS] [-- COMMAND [ARGUMENT ...]]"
    add = parser.add_argument
    add("--upstream", metavar="HOST:PORT[,...]", help="the cluster's bootstrap servers; the other nodes are found")
    add("--journal", metavar="FILE", help="write what passes by to this file (JSON Lines); DIR/: to RUN.jsonl in it")
    add("--journal-max-bytes", metavar="BYTES", help="of that file: whole rows, the last says what is left out (default: no limit)")
    add("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    add("--port", default="0", help="port of the first node; others take the next ones; 0: each a free one (default 0)")
    add("--listener", metavar="NAME=PROTOCOL://HOST:PORT", help="listen like this instead: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
    add("--listener-cert", metavar="FILE", help="certificate of that listener (default: a throw-away one)")
    add("--listener-key", metavar="FILE", help="its key, where it is not in the same file")
    add("--listener-dir", metavar="DIR", help="folder for the throw-away certificates (default: a temporary one)")
    add("--advertise", metavar="HOST[:PORT]", help="address that clients are told, where it differs from the one listened on")
    add("--plan", metavar="FILE", help="fault rules: a TOML or JSON file, or the name of a ready plan")
    add("--seed", metavar="N", help="seed of the chances of fault rules (default: the plan's, else 0)")
    add("--run", metavar="NAME", default="recorded", help="what the journal calls this run")
    add("--tls", action="store_true", help="speak TLS to the upstream; clients come in plain text")
    add("--tls-ca", metavar="FILE", help="CA certificates that the upstream is checked against (default: the system's)")
    add("--tls-cert", metavar="FILE", help="client certificate, where the upstream wants one")
    add("--tls-key", metavar="FILE", help="its key, where it is not in the same file")
    add("--sasl-user", metavar="NAME", help="authenticate to the upstream as this user; clients come without")
    add("--sasl-mechanism", metavar="NAME", help="by PLAIN (default), SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")
    add("--sasl-password-file", metavar="FILE", help="file with the password or token (default: the variable GROUPMOCK_SASL_PASSWORD)")
    said = "what is said on stderr: a line per rebalance, or with rows a line per row (default off)"
    add("--log", default="off", metavar="text|json|rows|json-rows|off", help=said)


def run(arguments: argparse.Namespace) -> int:
    from ..faults.plan import BadPlan
    from ..net.loops import UnknownLoop
    from ..net.loops import run as run_loop
    from ..record.settings import settings_of
    from ..server.running import CannotStart
    from ..text.printable import one_line

    cannot_start = OWN_FAILURE if arguments.command else CANNOT_START
    try:
        settings = settings_of(arguments)
        status, trouble, summary = run_loop(_record(settings, arguments.command))
    except (ConfigError, BadPlan, UnknownLoop) as bad:
        complain("record", bad)
        return BAD_USE
    except CannotStart as cannot:
        complain("record", cannot)
        return cannot_start
    if trouble is not None:
        complain("record", RuntimeError(f"the journal could not be written: {trouble}: it is incomplete, so the recording ends here"))
        return cannot_start
    print(one_line(summary), file=sys.stderr)
    return status


async def _record(settings: Settings, command: list[str]) -> tuple[int, str | None, str]:
    """Record until the end and return the exit code, what was wrong with the journal, and a line about the recording."""
    from ..net.loops import shorten_collections
    from ..record.proxy import Proxy

    stop = asyncio.Event()
    proxy = Proxy(settings, on_failure=stop.set)
    await proxy.start()
    shorten_collections()
    status = await _run(proxy, command) if command else await _serve(proxy, stop)
    return status, await proxy.close(), proxy.summary


async def _serve(proxy: Proxy, stop: asyncio.Event) -> int:
    import os

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    os.write(1, proxy.ready_line())
    await stop.wait()
    return OK


async def _run(proxy: Proxy, command: list[str]) -> int:
    """Run the command and return its status as a shell gives it."""
    import os

    from .run import VARIABLES, status_of

    try:
        return await status_of(command, os.environ | dict.fromkeys(VARIABLES, proxy.bootstrap))
    except OSError as trouble:
        complain("record", RuntimeError(f"cannot run {command[0]}: {trouble.strerror}"))
        return OWN_FAILURE
