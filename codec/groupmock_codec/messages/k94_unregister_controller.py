"""UnregisterController (key 94) has version 0, flexible from 0.

v0 new: removes the registration of a controller that is gone.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import UNREGISTER_CONTROLLER
from ..declare import INT16, INT32, STRING, ApiDeclaration, Message, Versions, nullable


class UnregisterControllerRequest(Message):
    controller_id: Annotated[int, INT32] = 0


class UnregisterControllerResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""


API = ApiDeclaration(
    UNREGISTER_CONTROLLER, "UnregisterController", Versions(0, 0), 0, UnregisterControllerRequest, UnregisterControllerResponse
)
