"""Says why a text is not the JSON that was expected. msgspec's releases raise different exceptions for bytes that are not UTF-8."""

from __future__ import annotations

from typing import Final

import msgspec

NOT_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions that msgspec raises for a text that is not the expected JSON. RecursionError is for deep nesting."""


def why_not_json(text: bytes | str | msgspec.Raw, refusal: Exception) -> str:
    """Return the reason as words to follow a colon. `refusal` is one of NOT_JSON, raised for this text."""
    if isinstance(refusal, RecursionError):
        return "nested too deep"
    try:
        text if isinstance(text, str) else bytes(text).decode()
    except UnicodeDecodeError as broken:
        return f"not UTF-8: {broken.reason}"
    return str(refusal)
