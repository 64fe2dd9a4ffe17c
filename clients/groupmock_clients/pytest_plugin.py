"""Fixtures `groupmock`, `groupmock_async`, `groupmock_server`, `groupmock_rig`, `groupmock_config`; marker `groupmock(seed=..., ...)`.

Product code is imported when a fixture is used, so that suites which do not use one pay nothing. Works without pytest-asyncio
(`groupmock_async` is handed out by an ordinary fixture) and under xdist (a server per worker: each is in its own process).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groupmock import AsyncBroker, Broker
    from groupmock.rig import CoreRig

BROKERS: pytest.StashKey[list[Broker]] = pytest.StashKey()
MUST_FIRE: pytest.StashKey[bool] = pytest.StashKey()
FAILED: pytest.StashKey[bool] = pytest.StashKey()
KNOWN_MARKS = "plan, must_fire, audit, audit_waivers, seed, topics, nodes, profile, settings"
RIG_MARKS = ("seed", "topics", "nodes", "profile", "settings")
"""What a rig takes too: it has no fault rules."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """--groupmock-journal DIR, and what the configuration file may say."""
    group = parser.getgroup("groupmock")
    group.addoption("--groupmock-journal", metavar="DIR", help="keep the journals of failed tests in this directory")
    parser.addini("groupmock_audit", "judge the clients of every test that uses `groupmock`: a broken rule fails it", type="bool")
    parser.addini("groupmock_waivers", "file of findings that do not count (docs/how-to/audit.md)", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, so that strict markers know it."""
    config.addinivalue_line("markers", f"groupmock({KNOWN_MARKS}): how the `groupmock` fixture starts its cluster for this test")


@pytest.fixture(scope="session")
def groupmock_config() -> dict[str, Any]:
    """Override it to choose what the fixtures start: keyword arguments of `groupmock.Broker`."""
    return {}


@pytest.fixture
def groupmock(request: pytest.FixtureRequest, groupmock_config: dict[str, Any]) -> Iterator[Broker]:
    """A mock cluster for this test alone, with blocking calls."""
    settings = _with_audit(request.config, groupmock_config | _marked(request.node))
    if settings.pop("must_fire", True) and "plan" in settings:
        request.node.stash[MUST_FIRE] = True
    with _broker(request, settings) as broker:
        request.node.stash.setdefault(BROKERS, []).append(broker)
        yield broker
        request.node.stash[BROKERS] = []
    _sweep_journal(request, broker)


@pytest.fixture
def groupmock_async(groupmock: Broker) -> AsyncBroker:
    """The cluster of `groupmock`, with the same names as coroutines."""
    from groupmock import AsyncBroker

    return AsyncBroker(groupmock)


@pytest.fixture(scope="session")
def groupmock_server(groupmock_config: dict[str, Any]) -> Iterator[Broker]:
    """One mock cluster for the whole session (one per xdist worker); `.clear()` forgets everything between tests."""
    from groupmock import Broker

    with Broker(**groupmock_config) as broker:
        yield broker


@pytest.fixture
def groupmock_rig(request: pytest.FixtureRequest, groupmock_config: dict[str, Any]) -> CoreRig:
    """The core of a cluster for this test alone, on a virtual clock: no sockets, no threads. The marker chooses `seed`, `topics`, `nodes`,
    `profile` and `settings`; of `groupmock_config` it takes the same."""
    from groupmock.rig import CoreRig

    marked = _marked(request.node)
    if wrong := sorted(marked.keys() - set(RIG_MARKS)):
        known = ", ".join(RIG_MARKS)
        raise pytest.UsageError(f"{request.node.nodeid}: groupmock_rig has no {', '.join(wrong)}: of the marker it takes {known}")
    return CoreRig.make(**{name: value for name, value in (groupmock_config | marked).items() if name in RIG_MARKS})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """A test whose marker names a plan, and in which a rule of it never fired, has not tested what it says."""
    result = yield
    if item.stash.get(MUST_FIRE, False):
        idle = [report.sentence for broker in item.stash.get(BROKERS, []) for report in broker.never_fired()]
        if idle:
            from groupmock.printable import one_line

            pytest.fail(one_line("; ".join(idle) + " (must_fire=False in the marker allows it)"), pytrace=False)
    broken = [told for broker in item.stash.get(BROKERS, []) for told in _findings(broker, "error")]
    if broken:
        first = "a client broke a rule of the group protocol (audit=False in the marker allows it)"
        pytest.fail("\n".join([first, *broken]), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A failed test says its seed and the story of its groups, while the cluster is still up."""
    report = yield
    if report.failed and call.when in ("setup", "call"):
        item.stash[FAILED] = True
        for broker in item.stash.get(BROKERS, []):
            report.sections.append(("groupmock", _last_words(broker)))
            if found := _findings(broker, "error", "warning"):
                report.sections.append(("groupmock audit", "\n".join(found)))
    return report


def _broker(request: pytest.FixtureRequest, settings: dict[str, Any]) -> Broker:
    from groupmock import Broker

    directory = request.config.getoption("--groupmock-journal")
    if directory and "journal" not in settings:
        Path(directory).mkdir(parents=True, exist_ok=True)
        settings["journal"] = str(Path(directory) / f"{_file_name(request.node.nodeid)}.jsonl")
    return Broker(**settings)


def _marked(item: pytest.Item) -> dict[str, Any]:
    marker = item.get_closest_marker("groupmock")
    if marker is None:
        return {}
    known = KNOWN_MARKS.split(", ")
    wrong = [str(value) for value in marker.args] + [name for name in marker.kwargs if name not in known]
    if wrong:
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.groupmock takes {KNOWN_MARKS} by name, not {', '.join(wrong)}")
    return dict(marker.kwargs)


def _with_audit(config: pytest.Config, settings: dict[str, Any]) -> dict[str, Any]:
    """What the configuration file says of audits, where nobody said something else."""
    waivers = [str(each) for each in config.getini("groupmock_waivers")]
    if len(waivers) > 1:
        raise pytest.UsageError(f"groupmock_waivers: one file, not {len(waivers)}: {', '.join(waivers)}")
    if settings.setdefault("audit", bool(config.getini("groupmock_audit"))) and waivers:
        settings.setdefault("audit_waivers", waivers[0])
    return settings


def _findings(broker: Broker, *severities: str) -> list[str]:
    """What its clients were found to do wrong, some lines each; nothing where they are not audited. Waived findings are left out."""
    if not broker.audited:
        return []
    from groupmock.audit.forms.text import finding_lines
    from groupmock.printable import lines

    wanted = [each for each in broker.audit().findings if each.severity in severities and each.waived is None]
    return [lines(line) for each in wanted for line in finding_lines(each, broker.journal or "")]


def _last_words(broker: Broker) -> str:
    return f"{broker.story()}\nrepeat with @pytest.mark.groupmock(seed={broker.seed})"


def _sweep_journal(request: pytest.FixtureRequest, broker: Broker) -> None:
    """Only the journals of failed tests are kept."""
    directory = request.config.getoption("--groupmock-journal")
    if directory and broker.journal is not None and not request.node.stash.get(FAILED, False):
        Path(broker.journal).unlink(missing_ok=True)


def _file_name(node_id: str) -> str:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return re.sub(r"[^a-zA-Z0-9._-]+", "_", node_id)[-120:] + (f".{worker}" if worker else "")
