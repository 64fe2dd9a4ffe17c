"""Opens the live page of a cluster in Chromium, with the cluster in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from crowd import Crowd
from page_visit import Visit
from playwright.sync_api import Browser

from groupmock import Broker

Opens = Callable[..., Visit]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"orders": 12}, seed=1, control=0, nodes=1, audit=True) as broker:
        yield broker


@pytest.fixture
def crowd(broker: Broker) -> Iterator[Callable[..., Crowd]]:
    """Yield a function that makes a Stable group of members."""
    crowds: list[Crowd] = []

    def gathered(names: Iterable[str] = ("anna", "ben", "cleo"), group: str = "kitchen", **how: Any) -> Crowd:
        names = list(names)
        crowds.append(Crowd(int(broker.bootstrap.rpartition(":")[2]), names, group=group, **how))
        broker.wait_for(group, state="Stable", members=len(names), timeout=60)
        return crowds[-1]

    yield gathered
    for each in crowds:
        each.end()


@pytest.fixture
def visit(browser: Browser, broker: Broker) -> Iterator[Opens]:
    """Yield a function that opens the page. At the end the console must be empty and only the server may have been asked."""
    visits: list[Visit] = []

    def opened(**how: Any) -> Visit:
        visits.append(Visit(browser, f"{broker.control}/", **how))
        return visits[-1]

    yield opened
    for each in visits:
        each.context.close()
        assert [text for text in each.said if not each.may_say or each.may_say not in text] == []
        assert [url for url in each.asked if not url.startswith((each.url, "blob:"))] == []


@pytest.fixture
def keep(keep: Callable[..., None]) -> Callable[..., None]:
    """Return a function that takes a screenshot of the whole live page or of its visible part."""
    return lambda page, name, whole=True: keep(page, f"live-{name}", whole)
