"""The OpenAPI document is valid, lists exactly the existing routes, and describes the answers correctly."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from groupmock.control.openapi import document, operation_id
from groupmock.control.routes import ROUTES


@pytest.fixture(scope="module")
def served() -> dict[str, Any]:
    return json.loads(json.dumps(document(ROUTES)))


def test_it_is_valid(served: dict[str, Any]) -> None:
    validate(served)


def test_it_has_every_route_and_no_other(served: dict[str, Any]) -> None:
    told = {(method.upper(), path) for path, methods in served["paths"].items() for method in methods}
    assert told == {(route.method, route.full_path) for route in ROUTES}


async def test_the_server_has_every_route_and_no_other(api) -> None:
    answered = await api.get("/openapi.json")
    assert answered == json.loads(json.dumps(document(ROUTES)))
    router = api.control._runner.app.router
    have = {(route.method, route.resource.canonical) for route in router.routes() if route.method != "HEAD"}
    assert have == {(route.method, route.full_path) for route in ROUTES}


def test_names_paths_and_verbs_are_unique() -> None:
    for names in (
        [operation_id(route) for route in ROUTES],
        [(route.method, route.path) for route in ROUTES],
        [route.verb for route in ROUTES if route.verb],
    ):
        assert len(set(names)) == len(names)


def test_every_parameter_of_a_path_is_declared(served: dict[str, Any]) -> None:
    for path, methods in served["paths"].items():
        for operation in methods.values():
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path)), path


async def test_answers_are_what_the_document_says(api, served: dict[str, Any]) -> None:
    """Every GET and a command of each kind answers as documented, on a cluster with some activity."""
    await api.stable(client="anna")
    await api.post("/v1/faults", name="r", when={"api": "Fetch"}, do={"kind": "drop"})
    places = {"{group}": "g", "{name}": "r", "{node}": "1"}
    asked = [route for route in ROUTES if route.method == "GET" and route.answer is not str]
    for route in asked:
        path = route.full_path
        for name, value in places.items():
            path = path.replace(name, value)
        at_once = "?timeout=0" if path.endswith("/wait") else ""
        check(served, route.method, route.full_path, *await api.ask(route.method, path + at_once))
    bodies = {
        "/v1/groups/{group}/expire": {"member": "nobody"},
        "/v1/clock/step": {"ms": 1},
        "/v1/nodes/{node}/stall": {"ms": 5},
        "/v1/seed": {},
    }
    for path, body in bodies.items():
        check(served, "POST", path, *await api.ask("POST", path.replace("{group}", "g").replace("{node}", "1"), body))


def check(served: dict[str, Any], method: str, path: str, status: int, answer: Any) -> None:
    told = served["paths"][path][method.lower()]["responses"]
    assert str(status) in told, f"{method} {path} answered {status}, which is not in the document: {answer}"
    schema = told[str(status)]["content"]["application/json"]["schema"] | {"components": served["components"]}
    jsonschema.validate(answer, schema)
