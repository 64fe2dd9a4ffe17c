"""An authentication that a fault rule refuses, as the mechanism refuses wrong credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import oauthbearer, plain
from .outcomes import Accepted, Continues, Denied, Outcome, invalid

if TYPE_CHECKING:
    from .outcomes import Exchange


class UnwelcomeExchange:
    """An exchange that ends like `exchange`, but accepts nobody. `why` is the reason for the log and the story."""

    def __init__(self, exchange: Exchange, mechanism: str, why: str) -> None:
        self._exchange = exchange
        self._mechanism = mechanism
        self._why = why
        self._challenged = False

    def take(self, token: bytes) -> Outcome:
        """Handle the next token of the client. OAUTHBEARER tells a refusal in two steps (SEC-41)."""
        if self._challenged and token == oauthbearer.UNDERSTOOD:
            return Denied(oauthbearer.INVALID, self._why)
        outcome = self._exchange.take(token)
        if not isinstance(outcome, Accepted):
            return outcome
        if self._mechanism == oauthbearer.NAME:
            self._challenged = True
            return Continues(oauthbearer.INVALID.encode())
        return Denied(plain.WRONG, self._why) if self._mechanism == plain.NAME else invalid(self._mechanism, self._why)
