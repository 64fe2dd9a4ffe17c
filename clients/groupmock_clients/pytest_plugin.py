"""Provide the fixtures `groupmock`, `groupmock_async`, `groupmock_server`, `groupmock_server_async`, `groupmock_rig` and
`groupmock_config`, and the marker `groupmock(seed=..., ...)`.

Product code is imported when a fixture is used, so that other suites pay nothing. The plug-in works without pytest-asyncio, because
`groupmock_async` is an ordinary fixture, and under xdist with one server per worker process.

A failed test shows the seed, the story of each group and where its picture and journal are, for its own cluster and for the shared one.
The shared cluster is cleared before a test and not after
it. So the remains of a failed test can be inspected, and the fixtures of the next test find an empty cluster.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groupmock import AsyncBroker, Broker
    from groupmock.audit.verdicts import ClientFindings
    from groupmock.rig import CoreRig

BROKERS: pytest.StashKey[list[Broker]] = pytest.StashKey()
MUST_FIRE: pytest.StashKey[bool] = pytest.StashKey()
FAILED: pytest.StashKey[bool] = pytest.StashKey()
SERVER: pytest.StashKey[Broker] = pytest.StashKey()
"""The session's shared cluster, once a test has asked for it."""
RUNS: pytest.StashKey[pytest.Item] = pytest.StashKey()
"""The test that the session is running."""
PICTURES: pytest.StashKey[pytest.TempPathFactory] = pytest.StashKey()
"""The session's default folder for pictures of failed tests."""
JOURNAL, AUDIT, WAIVERS = "GROUPMOCK_JOURNAL", "GROUPMOCK_AUDIT", "GROUPMOCK_AUDIT_WAIVERS"
"""Environment variables that the fixtures read themselves, because a journal is per test and pytest's configuration has options of the
same meaning."""
TOLD: pytest.StashKey[Counter[Any]] = pytest.StashKey()
"""Counts the shared cluster's findings that have already failed a test of this session, by rule and client library."""
MARKS = {
    "plan": "fault rules from the start: a file, the name of a ready plan, TOML text, or the same as data",
    "must_fire": "False: the test passes also where a rule of that plan never fired",
    "audit": "judge the clients: one that breaks a rule of severity error fails the test",
    "audit_waivers": "a file of findings that do not count",
    "seed": "of ids and chances: what a failed test names",
    "seed_data": "topics, records, offsets and configs from the start",
    "topics": '{"orders": 12} or ["orders:12"]',
    "nodes": "how many brokers",
    "first_node_id": "id of the first of them, 1 without it",
    "profile": "whose versions, defaults and quirks: kafka-4.4, ...",
    "settings": 'Kafka\'s names: {"group.max.size": 3}',
    "clear": "of `groupmock_server` alone. False: it is not cleared before this test",
}
"""Maps each argument of the marker `groupmock` to its explanation."""
KNOWN_MARKS = ", ".join(MARKS)
SECTION_WIDTH = 80
RIG_MARKS = ("seed", "topics", "nodes", "profile", "settings")
"""The arguments of the marker that apply to a rig too, which has no fault rules."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --groupmock-journal DIR, --groupmock-timeline DIR, and the options of the configuration file."""
    group = parser.getgroup("groupmock")
    group.addoption("--groupmock-journal", metavar="DIR", help="keep the journals of failed tests in this directory")
    group.addoption("--groupmock-timeline", metavar="DIR", help="put pictures of failed tests here (default: pytest's temporary folder)")
    parser.addini("groupmock_server_clear", "clear `groupmock_server` before each test that uses it", type="bool", default=True)
    parser.addini("groupmock_audit", "judge the clients of every test that uses `groupmock`: a broken rule fails it", type="bool")
    parser.addini("groupmock_waivers", "file of findings that do not count (docs/how-to/audit.md)", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, so that --strict-markers accepts it."""
    about = "how the `groupmock` fixture starts its cluster for this test; clear: is `groupmock_server` cleared before it?"
    config.addinivalue_line("markers", f"groupmock({KNOWN_MARKS}): {about}")


@pytest.fixture(scope="session")
def groupmock_config() -> dict[str, Any]:
    """Override this fixture to choose what the fixtures start: keyword arguments of `groupmock.Broker`."""
    return {}


@pytest.fixture
def groupmock(
    request: pytest.FixtureRequest, groupmock_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A mock cluster for this test alone, with blocking calls. `groupmock_config` and the marker, which has priority, say what it
    starts. A failed test shows the seed, the story of each group and the path of a picture. With `--groupmock-journal DIR` its journal
    is kept."""
    request.config.stash[PICTURES] = tmp_path_factory
    settings = _with_audit(request.config, groupmock_config | _marked(request.node))
    if settings.pop("must_fire", True) and "plan" in settings:
        request.node.stash[MUST_FIRE] = True
    with _broker(request.config, settings, request.node) as broker:
        request.node.stash.setdefault(BROKERS, []).append(broker)
        yield broker
        request.node.stash[BROKERS] = []
    _sweep_journal(request.config, broker, request.node.stash)


@pytest.fixture
def groupmock_async(groupmock: Broker) -> AsyncBroker:
    """The cluster of `groupmock` as an AsyncBroker, whose methods have the same names and are coroutines."""
    from groupmock import AsyncBroker

    return AsyncBroker(groupmock)


@pytest.fixture(scope="session")
def groupmock_server(
    request: pytest.FixtureRequest, groupmock_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Provide one mock cluster for the whole session (one per xdist worker), as `groupmock_config` says. Before each test that uses it, the
    cluster is cleared: topics, groups, records and rules are gone, those of `groupmock_config` are there again, and the bootstrap
    address stays. It is not cleared before a test with `@pytest.mark.groupmock(clear=False)`, nor with `groupmock_server_clear = false`
    in pytest's configuration."""
    config = request.config
    config.stash[PICTURES] = tmp_path_factory
    with _broker(config, _with_audit(config, dict(groupmock_config)), config.stash[RUNS]) as broker:
        config.stash[SERVER] = broker
        yield broker
        del config.stash[SERVER]
    _sweep_journal(config, broker, config.stash)


@pytest.fixture
def groupmock_server_async(groupmock_server: Broker) -> AsyncBroker:
    """The cluster of `groupmock_server` as an AsyncBroker, whose methods have the same names and are coroutines."""
    from groupmock import AsyncBroker

    return AsyncBroker(groupmock_server)


@pytest.fixture
def groupmock_rig(request: pytest.FixtureRequest, groupmock_config: dict[str, Any]) -> CoreRig:
    """The core of a cluster for this test alone, on a virtual clock: no sockets, no threads. The marker and `groupmock_config` choose
    `seed`, `topics`, `nodes`, `profile` and `settings`."""
    from groupmock.rig import CoreRig

    marked = _marked(request.node)
    if wrong := sorted(marked.keys() - set(RIG_MARKS)):
        known = ", ".join(RIG_MARKS)
        raise pytest.UsageError(f"{request.node.nodeid}: groupmock_rig has no {', '.join(wrong)}: of the marker it takes {known}")
    return CoreRig.make(**{name: value for name, value in (groupmock_config | marked).items() if name in RIG_MARKS})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Any:
    """Clear the shared cluster before a test that uses it, and begin a new journal."""
    config = item.config
    config.stash[RUNS] = item
    server = config.stash.get(SERVER, None)
    if server is not None and _uses(item, "groupmock_server") and _cleared(item):
        before = _kept_journal(config, server)
        server.clear(_journal(config, item) if before is not None else None)
        if before is not None and before != _kept_journal(config, server) and not config.stash.get(FAILED, False):
            before.unlink()
        config.stash[TOLD] = Counter()
        config.stash[FAILED] = False
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Fail a test that has passed if a rule of its marker's plan never fired, or if a client broke a rule of the audit."""
    result = yield
    brokers = [broker for broker in item.stash.get(BROKERS, []) if _runs(broker)]
    if item.stash.get(MUST_FIRE, False):
        idle = [report.sentence for broker in brokers for report in broker.never_fired()]
        if idle:
            from groupmock.text.printable import one_line

            pytest.fail(one_line("; ".join(idle) + " (must_fire=False in the marker allows it)"), pytrace=False)
    broken = [told for broker in brokers for told in _findings(broker, "error")]
    if (server := _server(item)) is not None and _runs(server):
        # These counts of findings have already failed the tests that caused them, unless the cluster was cleared afterwards.
        failed = item.config.stash.setdefault(TOLD, Counter())
        broken += _findings(server, "error", failed=failed)
    if broken:
        first = "a client broke a rule of the group protocol (audit=False in the marker allows it)"
        pytest.fail("\n".join([first, *broken]), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show the seed, the stories and the picture of a failed test's clusters while the clusters are still up."""
    shared = _server(item)
    brokers = [*item.stash.get(BROKERS, []), *([shared] if shared is not None else [])]
    if call.excinfo is not None and brokers:
        _tell_once(call.excinfo.value, {broker.bootstrap for broker in brokers if _runs(broker)})
    report = yield
    if report.failed:
        item.stash[FAILED] = True
        if shared is not None:
            item.config.stash[FAILED] = True
        for number, broker in enumerate(brokers):
            if not _runs(broker):
                _add_section(report, "groupmock", "the test stopped this cluster, and its story went with it")
                continue
            told = [_last_words(broker, broker is shared), *_drawn(item, report, broker, number)]
            _add_section(report, "groupmock", "\n".join(told))
            if found := _findings(broker, "error", "warning"):
                _add_section(report, "groupmock audit", "\n".join(found))
    return report


def _runs(broker: Broker) -> bool:
    """Tell whether the cluster is still running, because nothing can be asked of one that the test has stopped."""
    try:
        return bool(broker.bootstrap)
    except RuntimeError:
        return False


def _tell_once(error: BaseException | None, told: Collection[str]) -> None:
    """Take the story out of the text of a GroupTimeout, because the section below the failure has it. `told`: the clusters whose stories
    follow, by their bootstrap addresses."""
    from groupmock import GroupTimeout

    seen: list[BaseException] = []  # Two exceptions may name each other as their cause, so visited ones are remembered.
    while error is not None and error not in seen:
        seen.append(error)
        if isinstance(error, GroupTimeout) and error.bootstrap in told:
            error.args = (error.missed,)
        error = error.__cause__ or error.__context__


def _add_section(report: pytest.TestReport, title: str, content: str) -> None:
    """Add a section to the report of a failed test, directly below the failure. A section of the report itself would stand below the
    captured output and would go with `--show-capture=no`."""
    failure = report.longrepr
    add = getattr(failure, "addsection", None)
    if isinstance(failure, str):  # The failure of a test that passed unexpectedly is a plain string.
        report.longrepr = f"{failure}\n{f' {title} '.center(SECTION_WIDTH, '-')}\n{content}"
    elif add is not None:
        add(title, content)
    else:  # The failures of doctests and of missing fixtures have no sections.
        report.sections.append((title, content))


def _uses(item: pytest.Item, fixture: str) -> bool:
    return fixture in getattr(item, "fixturenames", ())  # A test that is not a function, such as a doctest, has no fixture names.


def _server(item: pytest.Item) -> Broker | None:
    """Return the session's shared cluster if this test uses it and it is up."""
    return item.config.stash.get(SERVER, None) if _uses(item, "groupmock_server") else None


def _cleared(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("groupmock")
    wanted: bool = (marker.kwargs if marker is not None else {}).get("clear", item.config.getini("groupmock_server_clear"))
    return wanted


def _broker(config: pytest.Config, settings: dict[str, Any], item: pytest.Item) -> Broker:
    from groupmock import Broker

    if config.getoption("--groupmock-journal") and "journal" not in settings:
        settings["journal"] = _journal(config, item)
    elif "journal" not in settings and os.environ.get(JOURNAL):
        settings["journal"] = _journal_of_environment()
    return Broker(**{"environment": os.environ} | settings)


def _journal_of_environment() -> str:
    """Return the path of the next journal as the environment variable GROUPMOCK_JOURNAL says. In a folder each cluster has a file of its
    own. If it names a file, journals of earlier tests are kept as FILE.1, FILE.2, and an xdist worker puts its name before the suffix."""
    from groupmock.journal.place import make_way, names_by_run

    path, worker = os.environ[JOURNAL], os.environ.get("PYTEST_XDIST_WORKER")
    if names_by_run(path):
        return path
    if worker:
        stem, suffix = os.path.splitext(path)
        path = f"{stem}.{worker}{suffix}"
    make_way(path)
    return path


def _journal(config: pytest.Config, item: pytest.Item) -> str:
    """Return the path of this test's journal in the folder of the option."""
    directory = Path(config.getoption("--groupmock-journal"))
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory / f"{_file_name(item.nodeid)}.jsonl")


def _marked(item: pytest.Item) -> dict[str, Any]:
    marker = item.get_closest_marker("groupmock")
    if marker is None:
        return {}
    wrong = [str(value) for value in marker.args] + [name for name in marker.kwargs if name not in MARKS]
    if wrong:
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.groupmock takes {KNOWN_MARKS} by name, not {', '.join(wrong)}")
    return {name: value for name, value in marker.kwargs.items() if name != "clear"}


def _with_audit(config: pytest.Config, settings: dict[str, Any]) -> dict[str, Any]:
    """Add the configuration file's settings of audits, unless the test or the environment has its own."""
    from groupmock.config.option_values import YES

    waivers = [str(each) for each in config.getini("groupmock_waivers")]
    if len(waivers) > 1:
        raise pytest.UsageError(f"groupmock_waivers: one file, not {len(waivers)}: {', '.join(waivers)}")
    variable = os.environ.get(AUDIT)
    if variable is None:
        settings.setdefault("audit", bool(config.getini("groupmock_audit")))
    if waivers and settings.get("audit", variable in YES) and WAIVERS not in os.environ:
        settings.setdefault("audit_waivers", waivers[0])
    return settings


def _findings(broker: Broker, *severities: str, failed: Counter[Any] | None = None) -> list[str]:
    """Format the audit's findings about the cluster's clients, one for each rule and client library, without waived ones. Empty if the
    clients are not audited. With `failed`, only those that came after these counts, which are then brought up to date."""
    if not broker.audited:
        return []
    from groupmock.audit.forms.text import finding_lines
    from groupmock.audit.report import Source, reported
    from groupmock.text.printable import lines

    audit = broker.audit()
    for tally in audit.rules.values():
        tally.clients = [each for each in tally.clients if each.severity in severities and each.waived is None]
        if failed is not None:
            tally.clients = list(_later(tally.clients, failed))
    source = Source(name=broker.journal or "", audit=audit, path=broker.journal)
    return [lines(line) for each in reported([source]) for line in finding_lines(each)]


def _later(findings: list[ClientFindings], failed: Counter[Any]) -> Iterator[ClientFindings]:
    """Yield the findings that came after these counts, with the last occasion as the first if there are older ones."""
    from msgspec.structs import replace

    for each in findings:
        key = (each.rule, each.library, each.version)
        new, failed[key] = each.count - failed[key], each.count
        if new:
            yield each if new == each.count else replace(each, count=new, first=each.last)


def _last_words(broker: Broker, shared: bool) -> str:
    again = f'"seed": {broker.seed} in groupmock_config' if shared else f"@pytest.mark.groupmock(seed={broker.seed})"
    return f"{broker.story()}\nrepeat with {again}"


def _drawn(item: pytest.Item, report: pytest.TestReport, broker: Broker, number: int) -> Iterator[str]:
    """Draw the cluster's timeline and say where it is. pytest-html, if installed, shows it in its report."""
    folder = _pictures(item.config)
    if folder is None:
        return
    file = folder / f"{_file_name(item.nodeid)}{f'-{number}' if number else ''}.html"
    try:
        broker.draw(file)
        if item.config.pluginmanager.hasplugin("html"):
            _attach(report, broker, file)
    except Exception as trouble:  # The test has failed for another reason, which must be reported.
        yield f"its timeline could not be drawn: {type(trouble).__name__}: {trouble}"
        return
    yield f"timeline: {file}"


def _pictures(config: pytest.Config) -> Path | None:
    """Return the folder for pictures: that of the option, else one of this session, or None without either."""
    named = config.getoption("--groupmock-timeline")
    if named:
        return Path(named)
    factory = config.stash.get(PICTURES, None)
    return factory.getbasetemp() / "groupmock-timelines" if factory is not None else None


def _attach(report: pytest.TestReport, broker: Broker, file: Path) -> None:
    from pytest_html import extras

    still = file.with_suffix(".svg")
    broker.draw(still)
    picture = b64encode(still.read_bytes()).decode()
    # pytest-html puts pictures into a box of 320 pixels, in which no word can be read, but shows HTML in the width of the page.
    wide = f'<img alt="timeline of the test" style="width: 100%; height: auto" src="data:image/svg+xml;base64,{picture}">'
    shown = [extras.url(file.resolve().as_uri(), name="groupmock timeline"), extras.html(wide)]
    report.extras = [*getattr(report, "extras", []), *shown]  # type: ignore[attr-defined]  # pytest-html's own


def _sweep_journal(config: pytest.Config, broker: Broker, stash: pytest.Stash) -> None:
    """Delete the journal unless a test has failed."""
    journal = _kept_journal(config, broker)
    if journal is not None and not stash.get(FAILED, False):
        journal.unlink(missing_ok=True)


def _kept_journal(config: pytest.Config, broker: Broker) -> Path | None:
    """Return the broker's journal if the option named its folder. A journal named in the settings belongs to the user."""
    directory, journal = config.getoption("--groupmock-journal"), broker.journal
    return Path(journal) if directory and journal is not None and Path(journal).parent == Path(directory) else None


def _file_name(node_id: str) -> str:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return re.sub(r"[^a-zA-Z0-9._-]+", "_", node_id)[-120:] + (f".{worker}" if worker else "")
