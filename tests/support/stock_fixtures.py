"""Fixtures of the tests of stock clients: `cluster` (groupmock, or what --against names), `topic`, `team`."""

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
"""Folders in which a library's own warnings, and the sockets it leaves behind, are no errors."""
THEIRS = (
    "ignore:(read|open)_text is deprecated:DeprecationWarning",  # kafka-python on 3.11
    r"ignore::DeprecationWarning:aiokafka\.",
    # kafka-python now and then leaves a socket to the garbage collector when it is closed while it connects. groupmock's own sockets are
    # watched by the tests of the process and of the plug-in.
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """--against HOST:PORT."""
    parser.addoption("--against", metavar="HOST:PORT", help="run the stock-client tests against this broker instead of groupmock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings inside the stock libraries are theirs; ours stay errors."""
    for item in items:
        if item.path.parent.name in OF_STOCK_CLIENTS:
            for words in THEIRS:
                item.add_marker(pytest.mark.filterwarnings(words))


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """groupmock, started for this test; or the broker that --against or GROUPMOCK_TEST_BOOTSTRAP names."""
    where = request.config.getoption("--against", default=None) or os.environ.get("GROUPMOCK_TEST_BOOTSTRAP")
    if not where:
        found: Cluster = request.getfixturevalue("groupmock")
        return found
    from stock_elsewhere import Elsewhere

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
    from stock_team import Team

    people = Team(cluster.bootstrap, f"group-{topic}", (topic,))
    yield people
    people.close()
    del people
    gc.collect()  # what a library left behind is found in the test that left it


@pytest.fixture
def sockets_are_found_where_they_were_left() -> Iterator[None]:
    """kafka-python leaves some to the garbage collector: their warning belongs to the test, not to the end of the run."""
    yield
    gc.collect()
