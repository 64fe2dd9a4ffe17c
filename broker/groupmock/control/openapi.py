"""The OpenAPI 3.1 document of the control API, made from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ..text.bounded import MAX_BYTES
from ..version import __version__
from .arrivals import MAX_WAITS
from .listening import MAX_LISTENERS
from .route import EVENTS, FORM, JSON, JSON_LINES, Nothing, Route

OTHERS: Final = (FORM, JSON_LINES)
"""Content types of bodies that cannot be JSON."""
REFERENCE: Final = "#/components/schemas/{name}"
STATUSES: Final = {
    400: "Something in the request is not what it can be; the sentence names the place. Nothing was changed.",
    401: "The token, or the client's secret, lacks or is wrong.",
    403: "A page of another site asks, or somebody asks by another host's name.",
    404: "What the request names is not there; the sentence says what is.",
    408: "What was waited for did not happen in time.",
    409: "It is there, but not in a state in which that can be done.",
    413: f"The body has more bytes than it may: {MAX_BYTES}, where a route does not say more.",
    415: "The body is packed; it is wanted as it is.",
    503: f"{MAX_WAITS} wait for rows already, or {MAX_LISTENERS} listen.",
}


RESUME: Final = {
    "name": "Last-Event-ID", "in": "header", "required": False, "description": "id of the last event that was read: the next ones follow",
    "schema": {"type": "string"},
}  # fmt: skip


class Error(msgspec.Struct):
    """An error that is described in one sentence."""

    error: str


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of these routes with their parameters, bodies and answers."""
    answers = [route.answer for route in routes]
    bodies = [route.body for route in routes if route.body is not Nothing]
    types = list(dict.fromkeys([*answers, *bodies, Error]))
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.full_path, {})[route.method.lower()] = _operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "groupmock control API",
            "version": __version__,
            "description": "Steers and breaks a mock Kafka cluster, and says what happened.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "Where serve was told --control-token."}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route, by_type: dict[Any, Any]) -> dict[str, Any]:
    kind = "text/plain" if route.answer is str and route.gives == JSON else route.gives
    responses: dict[str, Any] = {"200": {"description": "Done.", "content": {kind: {"schema": by_type[route.answer]}}}}
    for status in statuses(route):
        responses[str(status)] = {"description": STATUSES[status], "content": {"application/json": {"schema": by_type[Error]}}}
    found: dict[str, Any] = {
        "operationId": operation_id(route),
        "summary": route.about,
        "parameters": [
            *_parameters(route.params, "path"),
            *_parameters(route.query, "query"),
            *([RESUME] if route.gives == EVENTS else []),
        ],
        "responses": responses,
    }
    if route.body is not Nothing:
        content = {route.media if route.media in OTHERS else JSON: {"schema": by_type[route.body]}}
        if route.text and route.media not in OTHERS:
            content[route.media] = {"schema": {"type": "string"}}
        required = not route.text and any(field.required for field in msgspec.structs.fields(route.body))
        found["requestBody"] = {"required": required, "content": content}
    return found


def operation_id(route: Route) -> str:
    """Return the name of a route's operation: the words of its verb, or those of its path without a verb."""
    words = route.verb or re.findall(r"\w+", route.path) or ("page",)
    return "_".join(words)


def statuses(route: Route) -> list[int]:
    """Return the HTTP statuses that a route may answer instead of 200."""
    codes = [403] if route.free else [401, 403]
    if route.method != "GET" or route.query is not Nothing:
        codes.append(400)
    if route.params is not Nothing or route.body is not Nothing:
        codes.append(404)
    if route.method == "POST":
        codes.append(409)
    if route.body is not Nothing:
        codes += [413, 415]
    return sorted({*codes, *route.refuses})


def _parameters(struct: type[msgspec.Struct], place: str) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(struct)
    properties = schema["$defs"][struct.__name__]["properties"] if struct is not Nothing else {}
    rows = []
    for field in msgspec.structs.fields(struct):
        told = dict(properties[field.encode_name])
        about = told.pop("description", "")
        rows.append({"name": field.encode_name, "in": place, "required": field.required, "description": about, "schema": told})
    return rows
