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
"""Folders whose tests ignore warnings of client libraries and sockets that they leave open."""
THEIRS = (
    "ignore:(read|open)_text is deprecated:DeprecationWarning",  # kafka-python uses deprecated functions and warns on Python 3.11.
    r"ignore::DeprecationWarning:aiokafka\.",
    # kafka-python sometimes does not close its socket when it is closed while it connects. The tests of the process and of the plug-in
    # check groupmock's own sockets.
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--against", metavar="HOST:PORT", help="run the stock-client tests against this broker instead of groupmock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings inside the client libraries; groupmock's own warnings stay errors."""
    for item in items:
        if item.path.parent.name in OF_STOCK_CLIENTS:
            for words in THEIRS:
                item.add_marker(pytest.mark.filterwarnings(words))


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Return a groupmock cluster for this test, or the broker that --against or GROUPMOCK_TEST_BOOTSTRAP names."""
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
    """Yield a team whose members join one group and read `topic`; all of them stop at the end."""
    from stock_team import Team

    people = Team(cluster.bootstrap, f"group-{topic}", (topic,))
    yield people
    people.close()
    del people
    gc.collect()  # Sockets that a library left open must be reported in the test that left them.


@pytest.fixture
def sockets_are_found_where_they_were_left() -> Iterator[None]:
    """Collect garbage after the test, so that a warning about kafka-python's open sockets is reported in this test."""
    yield
    gc.collect()
