"""Implements `groupmock audit --drive -- COMMAND`, which starts copies of the client's own program, puts them through situations and
judges each."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import BROKEN, CANNOT_START, OK, UNKNOWN
from ._options import complain

if TYPE_CHECKING:
    from ..audit.drive.comparison import EarlierRun
    from ..audit.drive.conduct import Wish
    from ..audit.drive.outcome import Outcome
    from ..audit.drive.situation import Situation
    from ..audit.report import Report
    from ..audit.verdicts import Finding

COPIES: Final = (2, 5)
SECONDS: Final = 60.0


def add_drive_arguments(parser: argparse.ArgumentParser) -> None:
    drive = parser.add_argument_group("a conformance run: groupmock audit --drive [OPTIONS] -- COMMAND [ARGUMENT ...]")
    drive.add_argument(
        "--drive", action="store_true",
        help="start COMMAND in copies and put them through situations. It is to consume GROUPMOCK_TOPIC in the group GROUPMOCK_GROUP of the"
        " cluster at GROUPMOCK_BOOTSTRAP (also KAFKA_BOOTSTRAP_SERVERS), with GROUPMOCK_CLIENT_ID as its client id and, where it is set,"
        " GROUPMOCK_INSTANCE_ID as its group.instance.id, to commit what it reads, and to close its consumer on SIGTERM",
    )  # fmt: skip
    drive.add_argument("--copies", metavar="N", type=int, default=3, help="how many, 2 to 5 (default %(default)s)")
    drive.add_argument("--situations", metavar="NAME,...", help="these alone (default: all); `list` lists them")
    drive.add_argument(
        "--seconds-per", metavar="S", type=float, default=SECONDS,
        help="the longest that one event is waited for; a situation whose event does not come is not reached (default %(default)g)",
    )  # fmt: skip
    drive.add_argument("--topic", metavar="NAME[:PARTITIONS]", action="append", help="the first is GROUPMOCK_TOPIC (default orders:6)")
    drive.add_argument("--profile", metavar="NAME", help="whose versions, defaults and quirks the cluster has")
    drive.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="sets", help="one of Kafka's settings")
    drive.add_argument(
        "--listener", metavar="NAME=PROTOCOL://HOST:0", action="append",
        help="the cluster's listener, for a program with production's security settings (as `groupmock serve`, repeatable)",
    )  # fmt: skip
    drive.add_argument("--users", metavar="FILE", help="users of listeners with SASL: a line NAME:PASSWORD each")
    drive.add_argument("--tls-dir", metavar="DIR", help="folder for throw-away certificates, made anew for each situation: DIR/ca.pem")
    drive.add_argument("--tls-cert", metavar="FILE", help="certificate of listeners with TLS (default: a throw-away one)")
    drive.add_argument("--tls-key", metavar="FILE", help="its key")
    drive.add_argument("--seed", metavar="N", type=int, help="of the ids that the clusters draw")
    drive.add_argument("--keep", metavar="DIR", help="keep the journals there, and what the copies print (default: nothing is kept)")
    drive.add_argument("--table", metavar="FILE", help="write the table rule x situation as JSON")
    drive.add_argument(
        "--against", metavar="FILE",
        help="the --table of an earlier run, of another release of the client: tell which rules are broken anew, still, and no more;"
        " exit code 1 is for a rule that is broken anew alone",
    )  # fmt: skip


def run_drive(
    arguments: argparse.Namespace,
    waive: Callable[[Finding], str | None] | None,
    notices: Iterable[str],
    write: Callable[[Report, list[tuple[str, str | None]]], None],
) -> int:
    """Run the situations and return the exit code. `waive` and `notices` come from the waivers, and `write` is the verb's writer of
    reports. Raises ValueError for bad use, KeyboardInterrupt after the report of an interrupted run."""
    from ..audit.drive.situation import situations

    if arguments.situations == "list":
        for situation in situations().values():
            print(f"{situation.name}: {situation.does}")
        return OK
    from ..audit.drive.comparison import read_table
    from ..audit.drive.copies import CannotRun
    from ..server.running import CannotStart, JournalFailed

    chosen = _checked(arguments, situations())
    earlier = None if arguments.against is None else read_table(arguments.against)
    with _folder(arguments.keep) as folder:
        outcomes: list[Outcome] = []
        interrupted = False
        try:
            _driven(arguments, folder, chosen, waive, outcomes)
        except (CannotRun, CannotStart, JournalFailed) as cannot:
            complain("audit", cannot)
            return CANNOT_START
        # SIGTERM cancels the task, so it ends the run in the same way as Ctrl-C.
        except (KeyboardInterrupt, asyncio.CancelledError):
            if not outcomes:
                raise KeyboardInterrupt("the copies are ended, nothing is judged") from None
            interrupted = True
        more = [*notices, *_unplayed(outcomes, chosen)] if interrupted else notices
        code = _told(arguments, outcomes, more, write, earlier)
    if interrupted:
        raise KeyboardInterrupt("the copies are ended, the situations before are judged")
    return code


def _unplayed(outcomes: list[Outcome], chosen: list[Situation]) -> Iterator[str]:
    last = next(place for place, each in enumerate(chosen) if each.name == outcomes[-1].name)
    if left := [each.name for each in chosen[last + 1 :]]:
        yield f"interrupted: {len(left)} of {len(chosen)} situations are not judged: {', '.join(left)}"


def _checked(arguments: argparse.Namespace, known: dict[str, Situation]) -> list[Situation]:
    from ..text.suggest import hint

    if not arguments.command:
        raise ValueError("no command: groupmock audit --drive [OPTIONS] -- COMMAND [ARGUMENT ...]")
    if arguments.journals:
        raise ValueError("--drive writes its own journals: leave the JOURNALs out, or audit them in another run")
    if not COPIES[0] <= arguments.copies <= COPIES[1]:
        raise ValueError(f"--copies {arguments.copies}: {COPIES[0]} to {COPIES[1]} are possible")
    if not 0 < arguments.seconds_per <= 3600:
        raise ValueError(f"--seconds-per {arguments.seconds_per:g}: above 0 and up to 3600")
    names = arguments.situations.split(",") if arguments.situations else list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"no situation {name!r}{hint(name, known)} (--situations list lists them)")
    return [known[name] for name in names]


@contextmanager
def _folder(kept: str | None) -> Iterator[Path]:
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="groupmock-audit-") as made:
            yield Path(made)
        return
    folder = Path(kept)
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _driven(
    arguments: argparse.Namespace,
    folder: Path,
    chosen: list[Situation],
    waive: Callable[[Finding], str | None] | None,
    outcomes: list[Outcome],
) -> None:
    """Run the situations and append the outcome of each as soon as it is known."""
    from ..audit.drive.conduct import Wish
    from ..net.loops import run as run_loop

    wish = Wish(
        arguments.command, folder, copies=arguments.copies, topics=arguments.topic or ("orders:6",), bound_s=arguments.seconds_per,
        profile=arguments.profile, sets=arguments.sets, seed=arguments.seed, codes=arguments.rule, waive=waive,
        security=_security(arguments),
    )  # fmt: skip
    run_loop(_conducted(wish, chosen, outcomes, arguments.keep is not None))


def _security(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the options of secured listeners that were given."""
    given = {
        "listener": arguments.listener, "users": arguments.users, "tls-dir": arguments.tls_dir, "tls-cert": arguments.tls_cert,
        "tls-key": arguments.tls_key,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


async def _conducted(wish: Wish, chosen: list[Situation], outcomes: list[Outcome], kept: bool) -> None:
    from ..audit.drive.conduct import conduct
    from ..audit.drive.outcome import line_of
    from ..text.progress import Progress

    here = asyncio.current_task()
    assert here is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, here.cancel)

    def tell(outcome: Outcome) -> None:
        if outcome.source is not None and kept:
            outcome.source.path = str(wish.folder / outcome.source.name)
        outcomes.append(outcome)
        progress.erase()
        print(line_of(outcome), file=sys.stderr, flush=True)

    with Progress("audit", len(chosen), "situations") as progress:
        await conduct(wish, chosen, tell, lambda situation: progress.show(chosen.index(situation), situation.name))


def _told(
    arguments: argparse.Namespace,
    outcomes: list[Outcome],
    notices: Iterable[str],
    write: Callable[[Report, list[tuple[str, str | None]]], None],
    earlier: EarlierRun | None,
) -> int:
    from msgspec import to_builtins

    from ..audit.drive.comparison import compare, comparison_lines
    from ..audit.drive.outcome import as_data, as_text, report

    comparison = None if earlier is None else compare(arguments.against, earlier, outcomes)
    if arguments.table is not None:
        table = as_data(outcomes, arguments.command, arguments.copies)
        if comparison is not None:
            table["against"] = to_builtins(comparison)
        Path(arguments.table).write_text(json.dumps(table) + "\n", encoding="utf-8")
    found, more = report(outcomes), list(notices)
    found.notices.extend(more)
    if arguments.report:
        write(found, arguments.report)
    else:
        _say_findings(found)
        print(as_text(outcomes), end="")
        for notice in more:
            print(f"note: {notice}")
    if comparison is not None:
        print("\n".join(comparison_lines(comparison)), file=sys.stderr if arguments.report else sys.stdout)
        if not comparison.broken:
            return UNKNOWN if comparison.unknown or found.unknown else OK
    if found.broken:
        return BROKEN
    return UNKNOWN if found.unknown else OK


def _say_findings(found: Report) -> None:
    from ..audit.forms.text import finding_lines
    from ..text.printable import lines

    for each in found.findings():
        print(lines("\n".join(finding_lines(each))))
        print()
