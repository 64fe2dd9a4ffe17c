"""Apache Kafka with the listeners, users and certificates of the exchanges about security."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groupmock.security import certificates
from tools.oracle import kafka_with_listeners

USERS = {"alice": "open sesame", "bob": "good night"}
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
LISTENERS = {
    "SASL": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT", "TLS": "SSL", "REQUIRED": "SSL", "REQUESTED": "SSL", "BOTH": "SASL_SSL",
}  # fmt: skip
JAAS = {
    "plain": 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="open sesame" user_bob="good night";',
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "oauthbearer": 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="x";',
}


@contextmanager
def secured_kafka(version: str, folder: Path, *, authorizer: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Start a broker and yield its plain address and the options with which the probe reaches all of its listeners."""
    ca = certificates.authority()
    server = certificates.issued(ca, "groupmock", certificates.ALWAYS_NAMED)
    files = certificates.write(folder, ca, server, certificates.issued(ca, "groupmock client"))
    keystore, users = folder / "keystore.pem", folder / "users"
    keystore.write_bytes(server.key_pem + server.pem)
    users.write_text("".join(f"{name}:{password}\n" for name, password in USERS.items()))
    settings = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        **{f"listener.name.{name.lower()}.{mechanism}.sasl.jaas.config": jaas for name, protocol in LISTENERS.items()
           if "SASL" in protocol for mechanism, jaas in JAAS.items()},
        "listener.name.short.connections.max.reauth.ms": 1500,
        "ssl.keystore.type": "PEM", "ssl.keystore.location": keystore, "ssl.truststore.type": "PEM", "ssl.truststore.location": files.ca,
        "listener.name.required.ssl.client.auth": "required", "listener.name.requested.ssl.client.auth": "requested",
        "offsets.topic.num.partitions": 1, "group.initial.rebalance.delay.ms": 400, "group.min.session.timeout.ms": 100,
    }  # fmt: skip
    if authorizer:
        settings |= {"authorizer.class.name": STANDARD, "super.users": "User:admin;User:ANONYMOUS"}
    with kafka_with_listeners(version, settings, LISTENERS) as addresses:
        words = [f"--listener={name}={protocol}://{addresses[name]}" for name, protocol in LISTENERS.items()]
        yield addresses["PLAINTEXT"], [*words, "--users", str(users), "--tls-ca", files.ca, "--tls-cert", files.client_certificate,
                                       "--tls-key", files.client_key]  # fmt: skip
