"""A right that a request needs. The file of an API declares the rights of its whole requests as `RIGHTS` (`core.gate`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from .acl import CLUSTER, CLUSTER_NAME

if TYPE_CHECKING:
    from ..events import Request


class Right(msgspec.Struct, frozen=True):
    """The right to do an operation on the resource that a field of the request names, or on the cluster. `when`: only some requests of the
    API need it; `instead` is another operation whose right is as good. No right is needed if the field is null."""

    operation: int
    kind: int = CLUSTER
    field: str = ""
    when: Callable[[Request], bool] | None = None
    instead: int | None = None

    def resource(self, request: Request) -> str | None:
        """Return the name of the resource, or None if the request does not need the right."""
        if self.when is not None and not self.when(request):
            return None
        return getattr(request.message, self.field) if self.field else CLUSTER_NAME
