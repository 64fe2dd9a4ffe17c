"""Fixtures of the tests of stock clients: `cluster` (groupmock, or the broker of --against), `topic`, `team`."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stock_team import Cluster, Team

OF_STOCK_CLIENTS = ("clients", "cooperative")
"""Folders whose tests ignore a library's own warnings and the sockets that it leaves open."""
THEIRS = (
    "ignore:(read|open)_text is deprecated:DeprecationWarning",  # kafka-python warns so on Python 3.11
    r"ignore::DeprecationWarning:aiokafka\.",
    # kafka-python sometimes leaves a socket to the garbage collector when it is closed while it connects. The tests of the process and of
    # the plug-in watch groupmock's own sockets.
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --against HOST:PORT."""
    parser.addoption("--against", metavar="HOST:PORT", help="run the stock-client tests against this broker instead of groupmock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings inside the stock libraries; ours stay errors."""
    for item in items:
        if item.path.parent.name in OF_STOCK_CLIENTS:
            for words in THEIRS:
                item.add_marker(pytest.mark.filterwarnings(words))


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Return groupmock, started for this test, or the broker that --against or GROUPMOCK_TEST_BOOTSTRAP names."""
    where = request.config.getoption("--against", default=None) or os.environ.get("GROUPMOCK_TEST_BOOTSTRAP")
    if not where:
        found: Cluster = request.getfixturevalue("groupmock")
        return found
    from stock_elsewhere import Elsewhere

    return Elsewhere(where)


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """Create a topic of six partitions with a name that no other test uses."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(name, 6)
    return name


@pytest.fixture
def team(cluster: Cluster, topic: str) -> Iterator[Team]:
    """Yield members of one group that read `topic`; stop all of them at the end."""
    from stock_team import Team

    people = Team(cluster.bootstrap, f"group-{topic}", (topic,))
    yield people
    people.close()
    del people
    gc.collect()  # sockets that a library left open are found in the test that left them


@pytest.fixture
def sockets_are_found_where_they_were_left() -> Iterator[None]:
    """Collect garbage after the test: a warning about kafka-python's open sockets belongs to it, not to the end of the run."""
    yield
    gc.collect()
