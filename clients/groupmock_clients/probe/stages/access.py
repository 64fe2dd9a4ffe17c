"""The probe reaches a broker by these settings: the security of its own connections, and the listeners of exchanges about security."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from groupmock.rig.wire import Client
from groupmock.security.login import Credentials, log_in
from groupmock.security.principals import distinguished_name
from groupmock.security.settings import WITH_TLS

from .contract import NotOnThisStage


class Endpoint(NamedTuple):
    """A listener of the judged broker."""

    protocol: str
    host: str
    port: int


@dataclass(frozen=True)
class Access:
    """`tls` and `credentials` are those of the probe's own connections, None for plain text and for nobody. `listeners` maps names of
    exchanges to further listeners, `passwords` has the users that these know by PLAIN, `ca` is the file of their authority, and
    `certificate` and `key` are those of a client that it knows."""

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    listeners: Mapping[str, Endpoint] = field(default_factory=dict)
    passwords: Mapping[str, str] = field(default_factory=dict)
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @cached_property
    def known(self) -> dict[str, str]:
        """The values to which exchanges may refer (`contract.Stage`)."""
        if self.certificate is None:
            return dict(self.passwords)
        pem = Path(self.certificate).read_text(encoding="ascii")
        begin = pem.index(ssl.PEM_HEADER)
        der = ssl.PEM_cert_to_DER_cert(pem[begin : pem.index(ssl.PEM_FOOTER, begin) + len(ssl.PEM_FOOTER)])
        return {**self.passwords, "client": distinguished_name(der)}

    def client(self, host: str, port: int, seconds: float) -> Client:
        """Open a connection of the probe itself and authenticate it. Raises OSError, LoginFailed, Unreadable."""
        client = Client(host, port, "probe", seconds, tls=self.tls)
        try:
            if self.credentials is not None:
                log_in(self.credentials.login(), client.ask)
        except BaseException:
            client.close()
            raise
        return client

    def context(self, certificate: str | None) -> ssl.SSLContext:
        """Return the TLS settings of a member that shows this certificate. Raises NotOnThisStage if there is none."""
        if certificate == "foreign":
            return self._foreign
        if certificate is not None and self.certificate is None:
            raise NotOnThisStage("no client certificate was named (--tls-cert)")
        return self._of_client if certificate is not None else self._without

    @cached_property
    def _without(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)

    @cached_property
    def _of_client(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca)
        assert self.certificate is not None
        context.load_cert_chain(self.certificate, self.key)
        return context

    @cached_property
    def _foreign(self) -> ssl.SSLContext:
        try:
            from groupmock.security import certificates
        except ImportError:
            raise NotOnThisStage("a foreign certificate is made with cryptography: pip install 'groupmock[tls]'") from None
        made = certificates.issued(certificates.authority(), "foreign client")
        context = ssl.create_default_context(cafile=self.ca)
        with tempfile.TemporaryDirectory(prefix="groupmock-probe-") as folder:
            file = Path(folder) / "foreign.pem"
            file.touch(mode=0o600)
            file.write_bytes(made.pem + made.key_pem)
            context.load_cert_chain(file)
        return context

    def has_tls(self, listener: str) -> bool:
        return self.listeners[listener].protocol in WITH_TLS
