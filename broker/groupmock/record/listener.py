"""The listener of a recording, to which clients connect with the security that they use in production.

TLS ends here, because the recorder has to read what passes. SASL does not: what a client says to authenticate itself goes on to the
cluster, and no token is written into the journal.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import NamedTuple

from groupmock_codec.extras import pip_install

from ..config.listeners import listeners_of
from ..config.option_values import Address, ConfigError, ListenerSpec
from ..security.settings import WITH_SASL, WITH_TLS

ORIGINS = {"listener": "--listener", "host": "default", "port": "default"}


class RecordingListener(NamedTuple):
    """The listener with its protocol, host and port (`spec`). `context` is for TLS, else None; `ca` is the file of the throw-away
    authority, if one was made."""

    spec: ListenerSpec
    context: ssl.SSLContext | None = None
    ca: str | None = None


def recording_listener(
    text: str, certificate: str | None, key: str | None, folder: str | None, advertise: Address | None, own_user: bool
) -> RecordingListener:
    """Return the listener of a text such as OUTSIDE=SASL_SSL://127.0.0.1:9093. `own_user`: the recorder authenticates itself to the
    cluster. Raises ConfigError."""
    (spec,) = listeners_of(text, ORIGINS, 1, None)
    if own_user and spec.protocol in WITH_SASL:
        raise ConfigError(
            "--listener: clients of a listener with SASL authenticate themselves to the cluster: "
            "leave --sasl-user out, or listen without SASL"
        )
    if spec.protocol not in WITH_TLS:
        if certificate is not None or folder is not None:
            raise ConfigError(f"--listener-cert, --listener-dir: {spec.protocol} has no TLS")
        return RecordingListener(spec)
    ca = None
    if certificate is None:
        hosts = [spec.host] if advertise is None else [spec.host, advertise.host]
        certificate, key, ca = _made(hosts, folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as trouble:  # ssl.SSLError is an OSError.
        raise ConfigError(f"--listener-cert: cannot use {certificate}: {trouble.strerror or trouble}: a PEM file is wanted") from None
    return RecordingListener(spec, context, ca)


def _made(hosts: list[str], folder: str | None) -> tuple[str, str, str]:
    """Make a throw-away authority with a certificate for these hosts, and return the files of certificate, key and authority."""
    try:
        from ..security import certificates
    except ImportError:
        raise ConfigError(f"--listener: TLS without --listener-cert needs a throw-away certificate: {pip_install('tls')}") from None
    ca = certificates.authority()
    server = certificates.issued(ca, "groupmock record", [*certificates.ALWAYS_NAMED, *hosts])
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="groupmock-record-"))
    try:
        files = certificates.write(place, ca, server, certificates.issued(ca, "groupmock client"))
    except OSError as trouble:
        raise ConfigError(f"--listener-dir: cannot write certificates into {place}: {trouble.strerror}") from None
    return files.certificate, files.key, files.ca
