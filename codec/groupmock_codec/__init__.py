"""Kafka's wire protocol: bytes <-> messages, every version of Kafka 2.8 to 4.3 of the APIs in `messages/`. Useful alone.

from groupmock_codec import APIS
request = APIS[11].request.decode(9, data)        # or APIS["JoinGroup"]
data = APIS[11].response.encode(9, response)
"""

from __future__ import annotations

from .errors import DecodeError, EncodeError, TooManyElements
from .registry import APIS, Api, Codec

__all__ = ["APIS", "Api", "Codec", "DecodeError", "EncodeError", "TooManyElements"]
