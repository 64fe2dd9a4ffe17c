"""The fault `throttle_time` sets `throttle_time_ms` in the answer and mutes the connection for that time (KIP-219)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from groupmock_codec import APIS
from groupmock_codec.declare import fields_of
from groupmock_codec.units import MS_PER_S, NS_PER_S

from ..actions import Answer
from ..kind import Fault, Target
from ..plan import When


class ThrottleTime(Fault, tag="throttle_time", frozen=True, kw_only=True):
    """Answer with `throttle_time_ms`, and serve the connection again only when that time is over, as Kafka does (KIP-219)."""

    ALTERS: ClassVar[bool] = True
    seconds: Annotated[float, Meta(gt=0, le=86_400, description="the time that the answer says")]
    mute: Annotated[bool, Meta(description="false: the answer says so, and the connection is served at once all the same")] = True

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Refuse API versions whose answer lacks the field."""
        field = next((each for each in fields_of(APIS[api].response.message) if each.name == "throttle_time_ms"), None)
        if field is None:
            return f"{api} has no throttle_time_ms"
        if field.present(version):
            return None
        return f'its answer has no throttle_time_ms before v{field.since}: say version = "{field.since}-"'

    def act(self, target: Target) -> Answer:
        """Return the real answer with the throttle time in it."""
        # This fault is applied only to replies (stage reply), when the real answer exists.
        assert target.response is not None
        message = msgspec.structs.replace(target.response, throttle_time_ms=int(self.seconds * MS_PER_S))
        return Answer(message, int(self.seconds * NS_PER_S) if self.mute else 0)


KIND = ThrottleTime
