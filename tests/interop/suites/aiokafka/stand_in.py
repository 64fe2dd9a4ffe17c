"""A pytest plugin for aiokafka's own suite: the broker of KAFKA_BOOTSTRAP stands where the suite starts one in a container.

The suite's fixtures stay as they are; the few that ask a container engine, or need one (certificates, ACLs, Kerberos), are answered here.
"""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

NOT_NEEDED = ("docker", "ssl_folder", "acl_manager", "kerberos_utils", "kafka_config")
"""Fixtures that every test of a broker names and no transactional one looks at."""


def broker(request):
    """What `kafka_server` yields; the suite's topics are made by the broker, with two partitions, as its container does."""
    host, port = os.environ["KAFKA_BOOTSTRAP"].split(":")
    others = dict.fromkeys(("ssl_port", "sasl_plain_port", "sasl_ssl_port", "container"))
    return SimpleNamespace(host=host, port=int(port), hosts=[f"{host}:{port}"], **others)


ANSWERS = {
    "kafka_image": lambda request: request.config.getoption("--docker-image"),
    "kafka_server": broker,
    **dict.fromkeys(NOT_NEEDED, lambda request: None),
}


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    """An answer in place of the fixture's own."""
    if fixturedef.argname not in ANSWERS:
        return None
    answer = ANSWERS[fixturedef.argname](request)
    fixturedef.cached_result = (answer, fixturedef.cache_key(request), None)
    # pytest takes None for "no hook answered" and then calls the fixture itself; the value is read from the cache
    return SimpleNamespace() if answer is None else answer
