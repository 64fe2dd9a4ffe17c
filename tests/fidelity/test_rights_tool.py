"""The requests and rules of tools.rights, played on the core alone: every request can be written, and rules decide about many of them."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from groupmock.config.advertise import advertised
from groupmock.config.resolve import resolve
from groupmock_codec import APIS
from groupmock_codec.response_errors import error_codes
from tools.rights.__main__ import EVERYTHING, Core
from tools.rights.requests import DRAWS, Drawer, made
from tools.rights.rules import draw_rules

DENIALS = frozenset((29, 30, 31, 53))
REQUESTS = 400


@pytest.mark.parametrize("release", ["4.4", "3.9"])
def test_drawn_requests_are_answered_and_rules_decide_about_them(release: str) -> None:
    rng, core = Random(f"tool {release}"), Core(release)
    versions = {row.key: (row.lowest, row.highest) for row in advertised(resolve({"profile": f"kafka-{release}"}, []).profile)}
    draw = Drawer(rng, "s-", versions)
    played: Counter[int] = Counter()
    decided: Counter[bool] = Counter()
    for number in range(REQUESTS):
        if not number % 20:
            core.ask("admin", 31, 3, made(APIS[31].request.message, {"filters": [EVERYTHING]}))
            created = core.ask("admin", 30, 3, made(APIS[30].request.message, {"creations": draw_rules(rng, draw)}))
            assert not any(each.error_code for each in created.results)
        drawn = draw.request()
        answer = core.ask("alice", drawn.key, drawn.version, drawn.message({}))
        played[drawn.key] += 1
        if not isinstance(answer, str):
            errors = {code for _, code in error_codes(type(answer), drawn.version).each(answer)}
            decided[bool(errors & DENIALS)] += 1
    assert set(played) == {key for key in DRAWS if key in versions}
    assert min(decided[True], decided[False]) > 20
