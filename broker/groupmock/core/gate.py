"""Checks the rights that a whole request needs, before its API's function handles it. Only a cluster with an authorizer has this gate.

The file of an API declares these rights as `RIGHTS`, and its function handles what depends on single topics, groups or resources in the
request. If the answer has more than an error code for the whole request, the file has a function `refused(request, code, text)`. It makes
the answer that refuses everything in the request, as `getErrorResponse` of Kafka's request classes does, or returns None if Kafka never
answers.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from groupmock_codec import APIS

from .apis import Behaviour, module_names
from .authorizer.acl import CLUSTER, DENIED, DENIED_TEXT, OPERATIONS
from .authorizer.authorizer import note_denied

if TYPE_CHECKING:
    from types import ModuleType

    from .authorizer.right import Right
    from .cluster import Cluster
    from .events import Request
    from .turn import Turn


@cache
def behaviour(key: int) -> Behaviour:
    """Return the function that checks the rights for an API key and handles the request. Raises KeyError if there is none."""
    module = import_module(f".apis.{module_names()[key]}", __package__)
    rights: tuple[Right, ...] = getattr(module, "RIGHTS", ())
    handle: Behaviour = module.handle
    if not rights:
        return handle

    def checked(cluster: Cluster, request: Request, turn: Turn) -> None:
        for right in rights:
            name = right.resource(request)
            if name is None or (right.instead is not None and cluster.allows(request, right.instead, right.kind, name)):
                continue
            if not cluster.allows(request, right.operation, right.kind, name):
                note_denied(turn, request, right.operation, right.kind, name)
                _refuse(module, request, turn, right)
                return
        handle(cluster, request, turn)

    return checked


def _refuse(module: ModuleType, request: Request, turn: Turn, right: Right) -> None:
    code, text = DENIED[right.kind], DENIED_TEXT[right.kind]
    if right.kind == CLUSTER:
        # Kafka's text has a dump of its request object in this place, which is different each time (SEC-80).
        text = f"Request {APIS[request.key].name} of {request.principal} needs {OPERATIONS[right.operation]} permission."
    refused = getattr(module, "refused", None)
    make: Any = APIS[request.key].response.message
    answer = make(error_code=code) if refused is None else refused(request, code, text)
    if answer is None:
        turn.abandon(request.ticket, "Kafka never answers this refusal")
    else:
        turn.reply(request.ticket, answer)
