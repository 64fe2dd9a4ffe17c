"""Stock clients on secured listeners: over every protocol and mechanism, and with every mistake, on Apache Kafka and on groupmock.

Both have the same listeners, users, certificates and rights. Signed tokens come from the token endpoint of a groupmock of its own, whose
key set both read from a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)  # fmt: skip

from groupmock import Broker, ClientSecurity
from groupmock.security import certificates
from groupmock.security.client_side import unsecured_token
from groupmock.security.settings import WITH_SASL, WITH_TLS

from . import building, catalogue
from .building import Program
from .stages import NEWEST, ROOT

RECORD = ROOT / "tools" / "records" / "secured-clients.json"
TOPIC = "orders"
PASSWORD = "open sesame"
USERS = dict.fromkeys(("alice", "without-group", "without-topic"), PASSWORD)
LOGIN = "org.apache.kafka.common.security"
PROTOCOLS = {
    "TLS": "SSL", "MUTUAL": "SSL", "SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL", "SIGNED": "SASL_PLAINTEXT", "SIGNEDTLS": "SASL_SSL",
    "FEW": "SASL_SSL", "EXPIRED": "SSL", "WRONGHOST": "SSL",
}  # fmt: skip
CERTIFICATES = {"EXPIRED": "expired", "WRONGHOST": "wrong-host"}
"""The certificates of listeners that do not have the good one."""
SUPER_USERS = "User:ANONYMOUS;User:alice;User:CN=groupmock client"
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": SUPER_USERS}
COMMON = {"group.initial.rebalance.delay.ms": "0"}
WORKS = "reads and commits"
WORKS_SECONDS = 60.0
FAILS_SECONDS = 25.0
SASL_WAYS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
Entry = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """A way to connect: what is right or wrong, and the listener. `works`: the client reads and commits. With `signed` it gets its token
    from the endpoint, which makes it last `lasts` seconds."""

    name: str
    listener: str
    mechanism: str = ""
    works: bool = False
    certificate: bool = False
    signed: bool = False
    lasts: int = 3600
    user: str = "alice"
    password: str = PASSWORD
    protocol: str = ""
    ca: str = "ca"


WORKING = (
    Way("PLAINTEXT", "PLAINTEXT", works=True), Way("SSL", "TLS", works=True),
    Way("SSL, client certificate", "MUTUAL", certificate=True, works=True),
    *(Way(f"{PROTOCOLS[listener]}, {mechanism}{', unsecured' if mechanism == 'OAUTHBEARER' else ''}", listener, mechanism, works=True)
      for listener in ("SASL", "BOTH") for mechanism in SASL_WAYS),
    *(Way(f"{PROTOCOLS[listener]}, OAUTHBEARER, signed", listener, "OAUTHBEARER", works=True, signed=True)
      for listener in ("SIGNED", "SIGNEDTLS")),
)  # fmt: skip
FAILING = (
    *(Way(f"wrong password, {mechanism}", "BOTH", mechanism, password="wrong") for mechanism in SASL_WAYS[:2]),
    *(Way(f"unknown user, {mechanism}", "BOTH", mechanism, user="nobody") for mechanism in SASL_WAYS[:2]),
    Way("mechanism that is not enabled", "FEW", "SCRAM-SHA-512"), Way("untrusted authority", "TLS", ca="other-ca"),
    Way("certificate of another host", "WRONGHOST"), Way("expired certificate", "EXPIRED"), Way("no client certificate", "MUTUAL"),
    Way("expired token", "SIGNEDTLS", "OAUTHBEARER", signed=True, lasts=-60),
    Way("no right to the group", "BOTH", "PLAIN", user="without-group"),
    Way("no right to the topic", "BOTH", "PLAIN", user="without-topic"), Way("plaintext client on a TLS port", "TLS", protocol="PLAINTEXT"),
    Way("TLS client on a plaintext port", "PLAINTEXT", protocol="SSL"),
)  # fmt: skip
WAYS = WORKING + FAILING


@dataclass(frozen=True)
class Client:
    """A client and the program that uses it. The last function of a command gets the folder of the built program."""

    name: str
    program: Program | None
    command: Callable[[Path, str], list[str]]


def _python(library: str) -> Client:
    script = str(building.HERE / "members" / "python" / "secured.py")
    return Client(library, None, lambda where, urls: [sys.executable, "-W", "ignore", script, library])


CLIENTS = (
    _python("aiokafka"), _python("kafka-python"), _python("confluent-kafka"),
    Client("KafkaJS", catalogue.KAFKAJS, lambda where, urls: building.node(where, "secured.js")),
    Client("franz-go", catalogue.FRANZ, lambda where, urls: [*catalogue.driver(where), "secured"]),
    Client("Java", catalogue.java_program(NEWEST), lambda where, urls: _with_urls(building.java(where, "groupmock.interop.Secured"), urls)),
)  # fmt: skip


def _with_urls(command: list[str], urls: str) -> list[str]:
    return [command[0], f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={urls}", *command[1:]]


class House:
    """The certificates, keys and token endpoint of a run, in a folder."""

    def __init__(self, folder: Path, issuer: Broker) -> None:
        self.folder = folder
        self.issuer = issuer
        ca, other = certificates.authority(), certificates.authority()
        hosts = ["localhost", "127.0.0.1"]
        self._write("ca", ca)
        self._write("other-ca", other)
        self._write("good", certificates.issued(ca, "broker", hosts))
        self._write("expired", certificates.issued(ca, "broker", hosts, ended=True))
        self._write("wrong-host", certificates.issued(ca, "broker", ["elsewhere.example"]))
        self._write("client", certificates.issued(ca, "groupmock client"))
        with urlopen(f"{issuer.control}/v1/oauth/keys") as answer:
            (folder / "keys.json").write_bytes(answer.read())

    def _write(self, name: str, issued: certificates.Issued) -> None:
        for ending, content in ((".pem", issued.pem), (".key", issued.key_pem), (".both", issued.key_pem + issued.pem)):
            (self.folder / f"{name}{ending}").write_bytes(content)

    @property
    def keys(self) -> str:
        return f"file://{self.folder}/keys.json"

    def endpoint(self, lasts: int) -> str:
        return f"{self.issuer.control}/v1/oauth/token?expires_in={lasts}"

    @property
    def urls(self) -> str:
        """The URLs that Java may read."""
        return ",".join([self.keys, *{self.endpoint(way.lasts) for way in WAYS}])

    def security(self, way: Way, addresses: Mapping[str, str]) -> ClientSecurity:
        protocol = way.protocol or PROTOCOLS.get(way.listener, "PLAINTEXT")
        tls, sasl = protocol in WITH_TLS, protocol in WITH_SASL
        return ClientSecurity(
            bootstrap=addresses[way.listener], protocol=protocol, ca=str(self.folder / f"{way.ca}.pem") if tls else None,
            certificate=str(self.folder / "client.pem") if way.certificate else None,
            key=str(self.folder / "client.key") if way.certificate else None, user=way.user if sasl else None,
            password=way.password if sasl else None, mechanism=way.mechanism or "PLAIN",
            token_endpoint=self.endpoint(way.lasts) if way.signed else None)


@contextlib.contextmanager
def house() -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="secured-") as folder:
        listeners = {"TOKENS": "SASL_PLAINTEXT://127.0.0.1:0"}
        with Broker(listeners=listeners, users=USERS, oauth="signed", control=0) as issuer:
            yield House(Path(folder), issuer)


@contextlib.contextmanager
def apache_kafka(at: House) -> Iterator[dict[str, str]]:
    """Apache Kafka with the listeners of `PROTOCOLS`. Yields the address of each."""
    from tools.oracle import kafka_with_listeners

    settings = {
        **COMMON, **AUTHORIZER, "sasl.enabled.mechanisms": ",".join(SASL_WAYS),
        "ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(at.folder / "ca.pem"),
        "ssl.keystore.location": str(at.folder / "good.both"),
        **{f"listener.name.{name.lower()}.ssl.keystore.location": str(at.folder / f"{which}.both") for name, which in CERTIFICATES.items()},
        **of_listeners(at),
    }
    jaas = {
        "plain": f"{LOGIN}.plain.PlainLoginModule required " + " ".join(f'user_{name}="{word}"' for name, word in USERS.items()) + ";",
        "scram-sha-256": f"{LOGIN}.scram.ScramLoginModule required;", "scram-sha-512": f"{LOGIN}.scram.ScramLoginModule required;",
        "oauthbearer": f'{LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="x";',
    }
    for name in PROTOCOLS:
        prefix = f"listener.name.{name.lower()}"
        settings |= {f"{prefix}.{mechanism}.sasl.jaas.config": text for mechanism, text in jaas.items()}
        if name.startswith("SIGNED"):
            settings |= {
                f"{prefix}.oauthbearer.sasl.jaas.config": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
                f"{prefix}.oauthbearer.sasl.server.callback.handler.class": f"{LOGIN}.oauthbearer.OAuthBearerValidatorCallbackHandler",
            }
    with environment(JAVA_TOOL_OPTIONS=f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={at.keys}"):
        opened = kafka_with_listeners(NEWEST, settings, PROTOCOLS)
        addresses = opened.__enter__()
    try:
        furnish(addresses["PLAINTEXT"], scram=True)
        yield addresses
    finally:
        opened.__exit__(None, None, None)


@contextlib.contextmanager
def groupmock(at: House) -> Iterator[dict[str, str]]:
    """A groupmock with the same listeners; one of its own for each certificate."""
    with contextlib.ExitStack() as open_brokers:
        addresses: dict[str, str] = {}
        for which in ("good", *CERTIFICATES.values()):
            names = [name for name in PROTOCOLS if CERTIFICATES.get(name, "good") == which]
            listeners = {name: f"{PROTOCOLS[name]}://127.0.0.1:0" for name in names}
            first = {"PLAINTEXT": "PLAINTEXT://127.0.0.1:0"} if which == "good" else {}
            users = USERS if any(PROTOCOLS[name] in WITH_SASL for name in names) else None
            own = {key: value for key, value in of_listeners(at).items() if key.split(".")[2].upper() in names}
            settings = {**COMMON, **AUTHORIZER, **own}
            broker = open_brokers.enter_context(Broker(
                profile="kafka-4.4", listeners={**first, **listeners}, users=users, settings=settings,
                tls_cert=at.folder / f"{which}.pem", tls_key=at.folder / f"{which}.key", tls_ca=at.folder / "ca.pem"))
            addresses |= {name: broker._up().bootstrap_of(name) for name in (*first, *names)}
        furnish(addresses["PLAINTEXT"])
        yield addresses


def of_listeners(at: House) -> dict[str, str]:
    """Return the settings of single listeners, which both brokers have."""
    signed = {"jwks.endpoint.url": at.keys, "allow.unverified.audience": "true", "allow.unverified.issuer": "true"}
    return {
        "listener.name.mutual.ssl.client.auth": "required", "listener.name.few.sasl.enabled.mechanisms": "PLAIN",
        **{f"listener.name.{name}.sasl.oauthbearer.{key}": value for name in ("signed", "signedtls") for key, value in signed.items()},
    }


BROKERS: dict[str, Callable[[House], contextlib.AbstractContextManager[dict[str, str]]]] = {
    f"Apache Kafka {NEWEST}": apache_kafka, "groupmock": groupmock,
}


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set variables of the environment, which processes that start meanwhile inherit."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def furnish(bootstrap: str, scram: bool = False) -> None:
    """Make the topic with a record, the rules, and for Kafka the users of SCRAM."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(20)
    if scram:
        each = [ScramCredentialInfo(mechanism, 4096) for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)]
        for info in each:
            alterations = [UserScramCredentialUpsertion(user, info, PASSWORD.encode()) for user in USERS]
            for future in admin.alter_user_scram_credentials(alterations).values():
                future.result(20)
    rights = {"without-group": (ResourceType.TOPIC, TOPIC), "without-topic": (ResourceType.GROUP, "*")}
    for user, (kind, name) in rights.items():
        acl = AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation.READ, AclPermissionType.ALLOW)
        admin.create_acls([acl])[acl].result(20)
    # A broker applies users and rules some milliseconds after its answer, in their order. DescribeAcls shows the rules that are applied.
    every_rule = AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)
    end = time.monotonic() + 20
    while len(shown := admin.describe_acls(every_rule).result(20)) < len(rights):
        assert time.monotonic() < end, f"the broker applied only these rules: {shown}"
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(TOPIC, b"one")
    assert producer.flush(20) == 0, "the record was not written"


def played(client: Client, way: Way, at: House, addresses: Mapping[str, str], group: str) -> Entry:
    """Let a client consume in one way. Return what it did: `client`, `outcome` ("reads", or the errors), and the `texts` of the errors."""
    security = at.security(way, addresses)
    log = at.folder / f"{group}.log"
    wish: dict[str, object] = {
        **msgspec.structs.asdict(security), "group": group, "topic": TOPIC, "name": "member",
        "seconds": int(WORKS_SECONDS if way.works else FAILS_SECONDS), "properties": str(at.folder / f"{group}.properties"),
        "token": unsecured_token(way.user, int(time.time()) + way.lasts),
    }
    escaped = {name: value.replace("\\", "\\\\").replace("\n", "\\n") for name, value in security.java().items()}
    Path(str(wish["properties"])).write_text("".join(f"{name}={value}\n" for name, value in escaped.items()))
    where = building.built(client.program) if client.program is not None else at.folder
    with log.open("w") as sink:
        done = subprocess.run(
            client.command(where, at.urls), env=os.environ | {"MEMBER": json.dumps(wish)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=sink, text=True, timeout=120)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not any(each["event"] == "left" for each in events):
        raise RuntimeError(f"{client.name}, {way.name}: it did not end well: {events} {log.read_text()[-600:]}")
    raised = {each["error"]: normal(each["text"]) for each in events if each["event"] == "raised"}
    reads = any(each["event"] == "committed" for each in events)
    outcome = WORKS if reads else ", ".join(sorted(raised)) or "nothing"
    return {"client": next(each["client"] for each in events if each["event"] == "ready"), "outcome": outcome, "texts": raised}


PASSING = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"), (r"'127\.0\.0\.1', \d+", "ADDRESS"), (r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME"),
    (r"\d{13}ms", "TIME"), (r"'?[gA]-\d+-[\w-]+", "GROUP"),
    (r"127\.0\.0\.1", "HOST"), (r"\bport \d+", "port N"), (r"after \d+ms", "after N ms"),
    (r"\d+\.\d+ ?m?s\b", "N s"), (r"secured-\w+", "FOLDER"), (r"0x[0-9a-f]+", "0x"), (r"\b[0-9A-F]{16}\b", "ID"), (r"[0-9a-f]{6,}", "ID"),
)  # fmt: skip
"""Patterns of what differs from run to run: ports, addresses, durations, ids."""


def normal(text: str) -> str:
    """Return a text without what differs from run to run, in one line."""
    for pattern, into in PASSING:
        text = re.sub(pattern, into, text)
    return " ".join(text.split())[:300]


def different(data: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return (way, client, Kafka's outcome, ours) of each pair that differs."""
    kafka, ours = (data["brokers"].get(name, {}) for name in BROKERS)
    return [
        (way, client, entry["outcome"], ours[way][client]["outcome"])
        for way, entries in kafka.items() for client, entry in entries.items()
        if client in ours.get(way, {}) and ours[way][client]["outcome"] != entry["outcome"]
    ]
