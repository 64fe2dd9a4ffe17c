"""The fault `show_certificate` shows a certificate to a new client that no correct client accepts."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from ..actions import Show
from ..decide import FailedCondition
from ..facts import Facts
from ..kind import Fault, Target


class ShowCertificate(Fault, tag="show_certificate", frozen=True, kw_only=True):
    """Show another certificate in the TLS handshake of a new connection: one that has expired, one of another host, or one of an authority
    that nobody trusts. Without `times` every handshake shows it until the rule is removed. It needs the throw-away certificates of
    `--tls auto`. Connections to listeners without TLS do not count."""

    STAGES: ClassVar[tuple[str, ...]] = ("connect",)
    CAUSES: ClassVar[bool] = True
    SECURED: ClassVar[bool] = True
    certificate: Annotated[Literal["expired", "wrong_host", "unknown_authority"], Meta(description="what is wrong with it")]

    def lacks(self, facts: Facts) -> FailedCondition | None:
        return None if facts.tls else FailedCondition("listener", "one with TLS", facts.listener)

    def act(self, target: Target) -> Show:
        return Show(self.certificate)


KIND = ShowCertificate
