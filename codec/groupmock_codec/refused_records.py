"""The errors with which a log or a reader refuses records."""

from __future__ import annotations

from . import error_codes
from .error_codes import error_name


class RecordsError(ValueError):
    """A log refuses records with an error code of Kafka. `error_code` is Kafka's answer for the partition."""

    def __init__(self, error_code: int, reason: str) -> None:
        super().__init__(f"{error_name(error_code)}: {reason}")
        self.error_code, self.reason = error_code, reason

    def __reduce__(self) -> tuple[type[RecordsError], tuple[int, str]]:
        return type(self), (self.error_code, self.reason)


class OverLimit(RecordsError):
    """The records would cost more than their reader allows. A Java producer splits its batch after MESSAGE_TOO_LARGE."""

    def __init__(self, reason: str) -> None:
        super().__init__(error_codes.MESSAGE_TOO_LARGE, reason)

    def __reduce__(self) -> tuple[type[OverLimit], tuple[str]]:  # type: ignore[override]  # made of the reason alone
        return type(self), (self.reason,)
