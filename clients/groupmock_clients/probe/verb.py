"""Judge any Kafka broker: does it keep what Apache Kafka keeps about consumer groups?

Plays scripted members against HOST:PORT, in groups and topics of their own that are deleted afterwards, and reports each rule as kept,
broken, unknown or not applicable. Exit codes: 0 nothing broken, 1 something broken, 2 bad use, 3 no broker (any more), 4 what was asked for
by --only is unknown, nothing could be judged, or the broker is newer than every known release, so that what differs may be the release.
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .program import Options
    from .stages.access import Access

REPORTS = ("text", "json", "junit", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from groupmock.config import profiles

    parser.add_argument("broker", metavar="HOST:PORT", type=_address, help="the broker to judge")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="rows or exchanges of that name (* allowed; repeatable)"
    )
    parser.add_argument(
        "--release",
        choices=(*profiles.releases(), "auto"),
        default="auto",
        help="whose behaviour is expected (default auto: by its ApiVersions)",
    )
    parser.add_argument("--report", choices=REPORTS, default="text", help="form of the report (default text)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report there (default: stdout)")
    parser.add_argument("--quick", action="store_true", help="the newest version of every exchange alone")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", type=_setting, help="a setting the broker does not tell")
    parser.add_argument("--at-most", action="append", default=[], metavar="API=VERSION", type=_version, help="use no higher version of it")
    parser.add_argument("--longest", type=_positive, default=60, metavar="SECONDS", help="leave out what takes longer (default 60)")
    parser.add_argument("--time", type=_positive, default=900, metavar="SECONDS", help="for all of it; the rest is unknown (default 900)")
    parser.add_argument("--parallel", type=_count, default=32, metavar="N", help="dialogues at a time (default 32)")
    parser.add_argument("--retries", type=_retries, default=2, metavar="N", help="how often what broke is played again (default 2)")
    parser.add_argument(
        "--restart", type=_words, default=(), metavar="COMMAND", help="starts a broker that died under a dialogue again (words, no shell)"
    )
    parser.add_argument("--wait", type=_seconds, default=30, metavar="SECONDS", help="for a broker that died to come back (default 30)")
    parser.add_argument(
        "--patience", type=_positive, default=1.0, metavar="FACTOR", help="widen the time bounds (slow network, busy machine)"
    )
    parser.add_argument("--tls", action="store_true", help="speak TLS to the broker")
    parser.add_argument("--tls-ca", metavar="FILE", help="CA certificates that it is checked against (default: the system's)")
    parser.add_argument("--tls-cert", metavar="FILE", help="client certificate, where it wants one")
    parser.add_argument("--tls-key", metavar="FILE", help="its key, where it is not in the same file")
    parser.add_argument("--sasl-user", metavar="NAME", help="authenticate as this user, who must be a super user if there is an authorizer")
    parser.add_argument("--sasl-mechanism", metavar="NAME", help="by PLAIN (default), SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")
    parser.add_argument(
        "--sasl-password-file", metavar="FILE", help="file with the password or token (default: the variable GROUPMOCK_SASL_PASSWORD)"
    )
    parser.add_argument(
        "--listener",
        action="append",
        default=[],
        metavar="NAME=PROTOCOL://HOST:PORT",
        help="a further listener of the broker, by the name that exchanges about security give it (repeatable)",
    )
    parser.add_argument(
        "--users", metavar="FILE", help="users alice and bob, whom those listeners know by PLAIN: a line NAME:PASSWORD each"
    )
    parser.add_argument("--exchanges", type=Path, metavar="FOLDER", help="other exchanges than those that ship with groupmock")
    parser.add_argument("--transcripts", action="store_true", help="tell of every dialogue what was sent and seen (json, html)")
    parser.add_argument("--keep", action="store_true", help="do not delete the groups and topics that were made")


def run(arguments: argparse.Namespace) -> int:
    from groupmock.config.option_values import ConfigError

    from . import program

    try:
        asked = options(arguments)
    except ConfigError as wrong:
        return program.complain(program.BAD_USE, wrong)
    return program.run(asked)


def options(arguments: argparse.Namespace) -> Options:
    from .language.exchange_suite import FOLDER
    from .program import Options
    from .schedule import Pace
    from .verdicts.selection import Wishes

    host, port = arguments.broker
    return Options(
        host=host,
        port=port,
        release=arguments.release,
        report=arguments.report,
        output=arguments.output,
        folder=arguments.exchanges or FOLDER,
        wishes=Wishes(tuple(arguments.only), arguments.longest, arguments.quick),
        pace=Pace(arguments.parallel, arguments.retries, arguments.time, arguments.wait, arguments.restart),
        patience=arguments.patience,
        settings=dict(arguments.set),
        at_most=dict(arguments.at_most),
        transcripts=arguments.transcripts,
        keep=arguments.keep,
        access=_access(arguments),
    )


def _access(arguments: argparse.Namespace) -> Access:
    """Return how the broker is reached. Raises ConfigError."""
    from groupmock.config.listeners import listeners_of, users_in_file
    from groupmock.config.option_values import ConfigError
    from groupmock.record.reaching import PASSWORD, credentials, tls_context

    from .stages.access import Access, Endpoint

    origins = {"listener": "--listener", "host": "default", "port": "default"}
    listeners = listeners_of(arguments.listener, origins, 1, None)
    users = {} if arguments.users is None else users_in_file(arguments.users, "--users")
    if listeners and not {"alice", "bob"} <= users.keys():
        raise ConfigError("--listener: exchanges authenticate as alice and bob: name a file with their passwords in --users")
    ca, certificate, key = arguments.tls_ca, arguments.tls_cert, arguments.tls_key
    return Access(
        tls=tls_context(True, ca, certificate, key, "--tls") if arguments.tls else None,
        credentials=credentials(arguments.sasl_user, arguments.sasl_mechanism, arguments.sasl_password_file, "--sasl", PASSWORD),
        listeners={each.name: Endpoint(each.protocol, each.host, each.port) for each in listeners},
        passwords={name: str(password) for name, password in users.items()},
        ca=ca,
        certificate=certificate,
        key=key,
    )


def _address(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^:\[\]/,\s]+)):(?P<port>\d{1,5})", text)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise argparse.ArgumentTypeError(f"HOST:PORT expected (one broker), not {text!r}")
    return match["six"] or match["host"], int(match["port"])


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"KEY=VALUE expected, not {text!r}")
    return name, value


def _version(text: str) -> tuple[str, int]:
    api, _, version = text.partition("=")
    if not (api and version.isdecimal()):
        raise argparse.ArgumentTypeError(f"API=VERSION expected, not {text!r}")
    return api, int(version)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"a number above 0 expected, not {text!r}")
    return number


def _seconds(text: str) -> float:
    return 0 if text == "0" else _positive(text)


def _words(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"the words of a command expected, not {text!r}: {problem}") from None
    if not words:
        raise argparse.ArgumentTypeError("the words of a command expected")
    return words


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 512:
        raise argparse.ArgumentTypeError(f"a number from 1 to 512 expected, not {text!r}")
    return int(text)


def _retries(text: str) -> int:
    if not text.isdecimal() or len(text) > 2:
        raise argparse.ArgumentTypeError(f"a number from 0 to 99 expected, not {text!r}")
    return int(text)
