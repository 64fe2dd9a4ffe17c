"""This package encodes and decodes Kafka's wire protocol: every API in `messages/`, in every version of Kafka since 2.8. Useful alone.

from groupmock_codec import APIS
request = APIS[11].request.decode(9, data)        # or APIS["JoinGroup"]
data = APIS[11].response.encode(9, response)
"""

from __future__ import annotations

from .errors import DecodeError, EncodeError, TooManyElements
from .registry import APIS, Api, Codec

__all__ = ["APIS", "Api", "Codec", "DecodeError", "EncodeError", "TooManyElements"]
