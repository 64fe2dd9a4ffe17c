"""A bad request gets the right status and one sentence that names the wrong field, changes nothing, and needs a valid token."""

from __future__ import annotations

import io
from typing import Any

import pytest

from groupmock.config.resolve import Address, ConfigError, resolve
from groupmock.control.start import start_control
from groupmock.server.assembly import start
from groupmock.server.running import CannotStart

BAD: dict[str, tuple[str, str, Any, int, str]] = {
    "unknown route": ("GET", "/v1/grups", None, 404, "no route GET /v1/grups: did you mean /v1/groups"),
    "another version": ("GET", "/v2/groups", None, 404, "no route GET /v2/groups"),
    "wrong method": ("GET", "/v1/groups/g/expire", None, 405, "this path takes POST"),
    "unknown group": ("GET", "/v1/groups/nope", None, 404, "no group 'nope': there are g"),
    "expire in an unknown group": ("POST", "/v1/groups/nope/expire", {"member": "m"}, 404, "no group 'nope': there are g"),
    "unknown member": ("POST", "/v1/groups/g/expire", {"member": "m"}, 404, "group 'g' has no member 'm': there are"),
    "missing key": ("POST", "/v1/groups/g/expire", {}, 400, "body: Object missing required field `member` (it takes: member)"),
    "unknown key": ("POST", "/v1/groups/g/expire", {"membr": "a"}, 400, "body: Object contains unknown field `membr` (did you mean m"),
    "wrong type": ("POST", "/v1/groups/g/expire", {"member": 7}, 400, "got `int` - at `$.member` (member: member id, instance"),
    "no state": ("POST", "/v1/groups/g/hold", {"state": "Stabl"}, 400, "no group can be held in Stabl: there are Empty, Preparing"),
    "not now": ("POST", "/v1/groups/g/complete", {}, 409, "group 'g' is Stable: there is a delay to end in PreparingRebalance only"),
    "not JSON": ("POST", "/v1/groups/g/expire", b"member=a", 400, "body: not JSON"),
    "a list": ("POST", "/v1/groups/g/expire", ["a"], 400, "body: Expected `object`, got `array`"),
    "bytes": ("POST", "/v1/groups/g/expire", b"\xff\xfe{}", 400, "body: not UTF-8: invalid start byte at byte 0"),
    "body where there is none": ("POST", "/v1/groups/g/complete", {"now": True}, 400, "unknown field `now` (it takes: nothing)"),
    "node is no number": (
        "POST", "/v1/nodes/two/stop", {}, 400,
        "path: Expected `int`, got `str` - at `$.node` (node: node id; the first is 1, or what --first-node-id says)",
    ),
    "unknown node": ("POST", "/v1/nodes/3/stop", {}, 404, "no node 3: there are 1 to 2"),
    "unknown topic": ("POST", "/v1/topics/nope/leader", {"partition": 0, "node": 1}, 404, "no topic 'nope': there are orders"),
    "unknown partition": ("POST", "/v1/topics/orders/leader", {"partition": 2, "node": 1}, 404, "no partition 2 of topic 'orders'"),
    "topic without a name": ("POST", "/v1/topics", {"partitions": 1}, 400, "missing required field `name` (it takes: name, [part"),
    "topic that exists": ("POST", "/v1/topics", {"name": "orders"}, 409, "Topic 'orders' already exists: grow it, delete it first, or"),
    "topic of a name that is none": ("POST", "/v1/topics", {"name": "a b"}, 400, "ASCII alphanumerics, '.', '_' and '-': choose"),
    "topic without partitions": ("POST", "/v1/topics", {"name": "t", "partitions": 0}, 400, "Expected `int` >= 1 - at `$.partitions`"),
    "topic of too many": ("POST", "/v1/topics", {"name": "t", "partitions": 10_001}, 400, "10001 partitions are more than Kafka makes at"),
    "grow an unknown topic": ("POST", "/v1/topics/nope/grow", {"partitions": 3}, 404, "no topic 'nope': there are orders"),
    "fewer partitions": ("POST", "/v1/topics/orders/grow", {"partitions": 1}, 409, "1 would not be an increase: name a higher number"),
    "delete an unknown topic": ("DELETE", "/v1/topics/nope", None, 404, "no topic 'nope': there are orders"),
    "no coordinator named": ("POST", "/v1/coordinators/move", {}, 409, "name either a group or a partition"),
    "no step": ("POST", "/v1/clock/step", {"ms": 0}, 400, "Expected `int` >= 1 - at `$.ms` (ms: how far"),
    "a negative seed": ("POST", "/v1/seed", {"seed": -1}, 400, "Expected `int` >= 0 - at `$.seed`"),
    "unknown query": ("GET", "/v1/journal/find?kindd=moved", None, 400, "query: Object contains unknown field `kindd` (did you mean kind?"),
    "wrong query": ("GET", "/v1/journal/find?limit=many", None, 400, "query: Expected `int`, got `str` - at `$.limit` (limit: at most"),
    "unknown kind": ("GET", "/v1/journal/count?kind=move", None, 400, "query: no kind of row 'move': there are open, close, request"),
    "unknown API": ("GET", "/v1/journal/count?api=joinGroup", None, 400, "query: no API 'joinGroup' (did you mean JoinGroup?): Kafka's"),
    "unknown rule": ("DELETE", "/v1/faults/nope", None, 404, "nope"),
    "release of an unknown rule": ("POST", "/v1/faults/nope/release", None, 404, "nope"),
    "rule without do": ("POST", "/v1/faults", {"when": {"api": "Heartbeat"}}, 400, "do"),
    "rule of an unknown kind": ("POST", "/v1/faults", {"when": {}, "do": {"kind": "dropp"}}, 400, "did you mean drop?"),
    "rule with an unknown condition": ("POST", "/v1/faults", {"when": {"grup": "g"}, "do": {"kind": "drop"}}, 400, "grup"),
    "rule that is no JSON": ("POST", "/v1/faults", b"[[rule]]", 400, "body: not JSON"),
    "plan that is no TOML": ("POST", "/v1/plan", b"[[rule", 400, "the plan is not TOML"),
    "plan without a rule": ("POST", "/v1/plan", b"seed = 7", 400, "the plan has no rule"),
    "plan whose line ends are gone": ("POST", "/v1/plan", b'[[rule]]name = "x"', 400, "the plan is not TOML"),
    "empty plan": ("POST", "/v1/plan", None, 400, "the plan has no rule"),
    "unknown ready plan": ("POST", "/v1/plan?ready=nope", None, 400, "no ready plan 'nope': there are"),
    "a path for a ready plan": ("POST", "/v1/plan?ready=../plans/lost-sync", None, 400, "no ready plan '../plans/lost-sync'"),
    "two plans": ("POST", "/v1/plan?ready=lost-sync", b"[[rule]]", 400, "either a ready plan or one in the body"),
    "second rule of a plan bad": (
        "POST", "/v1/plan", {"rule": [{"when": {"api": "Heartbeat"}, "do": {"kind": "drop"}}, {"do": {"kind": "x"}}]}, 400, "no kind 'x'",
    ),
}  # fmt: skip


async def picture(api) -> tuple[Any, ...]:
    """Return the state of the cluster that a refused request must not change."""
    health = await api.get("/v1/health")
    groups = [await api.get(f"/v1/groups/{row['group_id']}") for row in await api.get("/v1/groups")]
    return health["seq"], health["nodes"], await api.get("/v1/faults"), [(each["group"], each["held"], each["frozen"]) for each in groups]


async def test_one_sentence_the_right_status_and_nothing_changed(api) -> None:
    """All bad requests run on one cluster, because each must leave the cluster unchanged."""
    await api.stable()
    before = await picture(api)
    wrong = {}
    for name, (method, path, body, status, text) in BAD.items():
        got, answer = await api.ask(method, path, body)
        sentence = answer.get("error", "") if isinstance(answer, dict) else str(answer)
        if (got, text in sentence, "\n" in sentence, set(answer)) != (status, True, False, {"error"}):
            wrong[name] = (got, answer)
        after = await picture(api)
        assert after == before, f"{name} changed something"
    assert wrong == {}


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer no"}, {"Authorization": "secret"}])
async def test_without_the_token_nobody_is_told_anything(open_api, header: dict[str, str]) -> None:
    async with open_api(token="secret") as api:
        assert (await api.ask("GET", "/v1/health"))[0] == 200
        api.session.headers.clear()
        for path in ("/v1/health", "/metrics", "/openapi.json", "/nope"):
            assert await api.ask("GET", path, headers=header) == (401, {"error": "a token is wanted: Authorization: Bearer TOKEN"})


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ({"Origin": "http://evil.test"}, "pages of http://evil.test may not steer this cluster"),
        ({"Host": "evil.test"}, "host 'evil.test' is not this one"),
        ({"Sec-Fetch-Site": "cross-site"}, "pages of other sites may not ask this cluster (Sec-Fetch-Site: cross-site)"),
        ({"Sec-Fetch-Site": "same-site"}, "pages of other sites may not ask this cluster (Sec-Fetch-Site: same-site)"),
        ({"Sec-Fetch-Site": "none, cross-site"}, "pages of other sites may not ask this cluster"),
    ],
    ids=["another site's page", "another name for this address", "an image in it", "a page on another port", "who knows"],
)
async def test_web_pages_of_others_are_refused(api, header: dict[str, str], text: str) -> None:
    before = api.control.running
    for method, path in (("POST", "/v1/reset"), ("GET", "/v1/journal/find"), ("GET", "/metrics"), ("GET", "/nope")):
        status, answer = await api.ask(method, path, headers=header)
        assert status == 403
        assert text in answer["error"]
    assert api.control.running is before


async def test_its_own_origin_and_localhost_are_not_refused(api) -> None:
    port = api.control.url.rsplit(":", 1)[1]
    own = ({"Origin": api.control.url}, {"Host": f"localhost:{port}"}, {"Host": f"[::1]:{port}"})
    for header in (*own, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert (await api.ask("GET", "/v1/health", headers=header))[0] == 200


async def test_a_body_that_is_too_large_is_refused(api) -> None:
    for path in ("/v1/plan", "/v1/faults", "/v1/seed"):
        status, answer = await api.ask("POST", path, io.BytesIO(b"#" * 65_537))
        assert (status, answer) == (413, {"error": "body: more than 65536 bytes"}), path


async def test_a_taken_port_is_named_with_a_remedy(api) -> None:
    port = api.control.url.rsplit(":", 1)[1]
    config = resolve({"port": 0, "control": port, "log": "off"})
    running = await start(config, stories=True)
    with pytest.raises(CannotStart, match=rf"cannot serve the control API on 127.0.0.1:{port}: .*: choose another --control PORT"):
        await start_control(config, running)


CONFIG = {
    "no number": ({"control": "x"}, "flag --control: 'x' is not a whole number from 0 to 65535"),
    "no port": ({"control": "127.0.0.1:"}, "flag --control"),
    "bare IPv6": ({"control": "::1:80"}, "neither PORT nor HOST:PORT"),
    "everybody": ({"control": "0.0.0.0:80"}, "whoever reaches 0.0.0.0 could steer the cluster: add --token TOKEN"),
    "no host": ({"control": ":7"}, "neither PORT nor HOST:PORT"),
    "token with a blank": ({"control": "0", "token": "a b"}, "flag --token: a token is a word of ASCII characters"),
}


@pytest.mark.parametrize(("flags", "text"), CONFIG.values(), ids=CONFIG)
def test_bad_settings_of_the_control_api(flags: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(flags)
    assert text in str(refused.value)


def test_where_it_listens() -> None:
    assert resolve({}).control is None
    for text, address in (("0", ("127.0.0.1", 0)), ("localhost:8", ("localhost", 8)), ("[::1]:9", ("::1", 9))):
        assert resolve({"control": text}).control == Address(*address)
    assert resolve({"control": "0.0.0.0:8", "token": "t"}).control == Address("0.0.0.0", 8)
