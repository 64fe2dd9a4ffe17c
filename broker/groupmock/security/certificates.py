"""Throw-away certificates for TLS listeners: an authority, a certificate of the broker and one of a client, made with `cryptography`.

They live as long as the run. Private keys are written with mode 0600, into a folder of mode 0700.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

EVER_SINCE: Final = timedelta(hours=1)
"""Certificates are valid since an hour ago, because clocks of containers differ."""
VALID: Final = timedelta(days=30)
ELSEWHERE: Final = "elsewhere.invalid"
"""The host in a certificate for another host."""
ALWAYS_NAMED: Final = ("localhost", "127.0.0.1", "::1")


class Issued(NamedTuple):
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key, not encrypted (PKCS #8)."""
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


class Files(NamedTuple):
    """The paths of the PEM files of a run."""

    ca: str
    certificate: str
    key: str
    client_certificate: str
    client_key: str


def authority(name: str = "groupmock throw-away authority") -> Issued:
    """Make an authority that signs certificates of this run. Its name ends in a number, because a client that trusts the authority of
    another run would take an equal name for the same authority, and say that the signature is wrong."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = f"{name} {token_hex(4)}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = _builder(subject, subject, key).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made = made.add_extension(_usage(signs=True), critical=True)
    return Issued(made.sign(key, hashes.SHA256()), key)


def issued(by: Issued, name: str, hosts: Iterable[str] = (), *, ended: bool = False) -> Issued:
    """Make a certificate that an authority signs. With `hosts` it is a server's for these names and addresses, else a client's. `ended`: it
    has expired."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = list(dict.fromkeys(hosts))
    usage = ExtendedKeyUsageOID.SERVER_AUTH if names else ExtendedKeyUsageOID.CLIENT_AUTH
    made = _builder(subject, by.certificate.subject, key, ended)
    made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    made = made.add_extension(_usage(signs=False), critical=True).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names:
        made = made.add_extension(x509.SubjectAlternativeName([_host(each) for each in names]), critical=False)
    return Issued(made.sign(by.key, hashes.SHA256()), key)


def with_fault(ca: Issued, hosts: Iterable[str], which: str) -> Issued:
    """Make a server's certificate that no correct client accepts: `expired`, `wrong_host` or `unknown_authority`."""
    if which == "wrong_host":
        hosts = [ELSEWHERE]
    return issued(authority() if which == "unknown_authority" else ca, "groupmock", hosts, ended=which == "expired")


def load(context: ssl.SSLContext, made: Issued) -> None:
    """Let a context show a certificate. OpenSSL reads it from a file, which is removed."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # Nobody else may read it: its mode is 0600.
        file.write(made.key_pem + made.pem)
        file.flush()
        context.load_cert_chain(file.name)


def write(folder: Path, ca: Issued, server: Issued, client: Issued) -> Files:
    """Write the files of a run into a folder that nobody else can read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    contents = {
        "ca.pem": ca.pem, "server.pem": server.pem, "server-key.pem": server.key_pem, "client.pem": client.pem,
        "client-key.pem": client.key_pem,
    }  # fmt: skip
    for name, content in contents.items():
        path = folder / name
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    return Files(*[str(folder / name) for name in contents])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, ended: bool = False) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    until = now - timedelta(minutes=1) if ended else now + VALID
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EVER_SINCE)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        key_cert_sign=signs, crl_sign=signs, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name.strip("[]")))
    except ValueError:
        return x509.DNSName(name)
