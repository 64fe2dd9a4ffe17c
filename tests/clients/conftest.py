"""Fixtures of the stock-client tests: `cluster` (groupmock, or what --against names), `team`, `topic`."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from .adapters import Wish
from .harness import Cluster, Team


def pytest_addoption(parser: pytest.Parser) -> None:
    """--against HOST:PORT."""
    parser.addoption("--against", metavar="HOST:PORT", help="run the stock-client tests against this broker instead of groupmock")


def pytest_configure(config: pytest.Config) -> None:
    """Warnings inside the stock libraries are theirs; ours stay errors."""
    config.addinivalue_line("filterwarnings", "ignore:(read|open)_text is deprecated:DeprecationWarning")  # kafka-python on 3.11
    config.addinivalue_line("filterwarnings", r"ignore::DeprecationWarning:aiokafka\.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """kafka-python now and then leaves a socket to the garbage collector when it is closed while it connects. Only here, where such
    clients run, is that no error; groupmock's own sockets are watched by the tests of the process and of the plug-in."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """groupmock, started for this test; or the broker that --against or GROUPMOCK_TEST_BOOTSTRAP names."""
    where = request.config.getoption("--against", default=None) or os.environ.get("GROUPMOCK_TEST_BOOTSTRAP")
    if not where:
        found: Cluster = request.getfixturevalue("groupmock")
        return found
    from .elsewhere import Elsewhere

    return Elsewhere(where)


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A topic of six partitions with a name that no other test uses."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(name, 6)
    return name


@pytest.fixture
def team(cluster: Cluster, topic: str) -> Iterator[Team]:
    """Members of one group that read `topic`; all of them are stopped at the end."""
    people = Team(Wish(cluster.bootstrap, f"group-{topic}", (topic,)))
    yield people
    people.close()
    del people
    gc.collect()  # what a library left behind is found in the test that left it
