"""Configuration of listeners, and clusters with several of them."""

from __future__ import annotations

import json
import os
import ssl
import stat
from pathlib import Path

import pytest
from cases import for_each
from cryptography import x509
from sasl_client import PASSWORD, SaslClient, rig

from groupmock import Broker, CannotStart, ConfigError
from groupmock.cli.config import rows
from groupmock.config.resolve import resolve
from groupmock.rig.replay import replay
from groupmock.rig.wire import Client
from groupmock.security.client_side import plain_token
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

ALL = {
    "PLAIN": "PLAINTEXT://127.0.0.1:0", "SASL": "SASL_PLAINTEXT://127.0.0.1:0", "TLS": "SSL://127.0.0.1:0", "BOTH": "SASL_SSL://[::1]:0",
}  # fmt: skip
USERS = {"alice": PASSWORD}


@for_each(
    "options, text",
    [
        ({"listener": "9092"}, "write NAME=PROTOCOL://HOST:PORT"),
        ({"listener": "A=TLS://127.0.0.1:0"}, "TLS is no security protocol"),
        ({"listener": ("A=SSL://127.0.0.1:0", "A=SSL://127.0.0.1:0")}, "two listeners have the same name"),
        ({"listener": "A=SSL://127.0.0.1:65535", "nodes": 2}, "no port of the first of 2 node"),
        ({"listener": "A=SSL://127.0.0.1:0", "port": 9093}, "each listener has its own host and port"),
        ({"listener": "A=SASL_SSL://127.0.0.1:0"}, "nobody could authenticate"),
        ({"listener": "A=SSL://127.0.0.1:0", "user": "alice:x"}, "no listener asks for users"),
        ({"listener": "A=SSL://127.0.0.1:0", "tls-cert": "a.pem"}, "needs its key"),
        ({"listener": "A=SSL://0.0.0.0:0"}, "add --advertise"),
        ({"listener": ("A=SSL://127.0.0.1:0", "B=SSL://127.0.0.1:0"), "advertise": "kafka:9092"}, "give the host alone"),
        ({"listener": "A=SASL_SSL://127.0.0.1:0", "user": "alice"}, "a user is NAME:PASSWORD"),
        ({"listener": "A=SASL_SSL://127.0.0.1:0", "user": ("a:x", "a:y")}, "user a is given twice"),
        ({"listener": "A=SASL_SSL://127.0.0.1:0", "users": "/nowhere"}, "cannot read the users /nowhere"),
        ({"listener": "A=SASL_SSL://127.0.0.1:0", "sasl": "all"}, "not one of users, any"),
        ({"user": "alice:x"}, "there is no secured listener"),
        ({"tls-cert": "a.pem"}, "there is no secured listener"),
    ],
)
def test_wrong_options_are_one_sentence(options: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(options)
    assert text in str(refused.value) and "\n" not in str(refused.value)


@for_each(
    "setting, text",
    [
        ("sasl.enabled.mechanisms=GSSAPI", "'GSSAPI' is not served: there are PLAIN, SCRAM-SHA-256"),
        ("ssl.enabled.protocols=TLSv1.1", "names other versions"),
        ("ssl.principal.mapping.rules=RULE:x", "no rule begins at 'RULE:x'"),
        ("ssl.client.auth=maybe", "takes none or requested or required"),
        ("listener.name.b.ssl.client.auth=required", "no listener is named 'b': there are a"),
        ("listener.name.a.ssl.client.auth=maybe", "takes none or requested or required"),
        ("listener.name.a.ssl.enabled.protocols=TLSv1.1", "--set listener.name.a.ssl.enabled.protocols: 'TLSv1.1' names other versions"),
        ("listener.name.a.num.partitions=2", "'num.partitions' is no setting that one listener can have"),
        ("listener.name.a.connection.failed.authentication.delay.ms=2", "no setting that one listener can have"),
        ("listener.name.a.plain.sasl.enabled.mechanisms=PLAIN", "no setting that one listener can have"),
        ("sasl.oauthbearer.jwks.endpoint.url=http://idp/keys", "key sets are read from files only"),
    ],
)
def test_wrong_settings_are_one_sentence(setting: str, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve({"listener": "A=SASL_SSL://127.0.0.1:0", "sasl": "any"}, [setting])
    assert text in str(refused.value)


def test_settings_of_one_listener_win_where_kafka_reads_them() -> None:
    listeners = ("OUTSIDE=SASL_SSL://127.0.0.1:0", "TLS=SSL://127.0.0.1:0", "Both=SASL_SSL://127.0.0.1:0")
    sets = [
        "ssl.client.auth=required", "listener.name.both.ssl.client.auth=requested", "connections.max.reauth.ms=1000",
        "listener.name.outside.connections.max.reauth.ms=2000", "listener.name.outside.plain.connections.max.reauth.ms=3000",
        "listener.name.both.sasl.enabled.mechanisms=PLAIN", "listener.name.both.plain.sasl.jaas.config=ignored",
    ]  # fmt: skip
    config = resolve({"listener": listeners, "user": "alice:x"}, sets)
    assert config.security is not None
    outside, tls, both = (config.security.listeners[name] for name in ("OUTSIDE", "TLS", "Both"))
    assert [each.settings.ssl_client_auth for each in (outside, tls, both)] == ["none", "required", "requested"]
    assert [outside.of(mechanism).connections_max_reauth_ms for mechanism in ("PLAIN", "SCRAM-SHA-256")] == [3000, 2000]
    assert (tls.settings.connections_max_reauth_ms, both.settings.mechanisms) == (1000, ["PLAIN"])
    assert config.ignored == ("listener.name.both.plain.sasl.jaas.config",)
    shown = {row["name"]: (row["value"], row["from"]) for row in rows(config)}
    assert shown["listener.name.both.sasl.enabled.mechanisms"] == ("PLAIN", "flag --set listener.name.both.sasl.enabled.mechanisms")


def test_settings_of_secured_listeners_are_named_as_ignored_without_them() -> None:
    assert resolve({}, ["ssl.client.auth=required"]).ignored == ("ssl.client.auth",)


def test_users_come_from_a_file_and_the_flag_wins(tmp_path: Path) -> None:
    (file := tmp_path / "users").write_text("# who may in\nalice:from the file\n\nbob:b:c\n")
    config = resolve({"listener": "A=SASL_SSL://127.0.0.1:0", "users": str(file), "user": "alice:from the shell"})
    assert config.security is not None and config.security.users == {"alice": "from the shell", "bob": "b:c"}
    assert "from the shell" not in repr(config) and "b:c" not in repr(config)


def test_each_listener_tells_its_own_addresses_on_every_node() -> None:
    with Broker(nodes=2, listeners=ALL, users=USERS) as broker:
        plain = broker.security("PLAIN").bootstrap
        assert plain == broker.bootstrap
        host, _, port = plain.partition(",")[0].rpartition(":")
        with Client(host, int(port)) as client:
            answer = client.ask(3, 9, MetadataRequest(topics=[]))
        assert ",".join(f"{each.host}:{each.port}" for each in answer.brokers) == plain
        host, _, port = broker.security("SASL").bootstrap.partition(",")[2].rpartition(":")
        with Client(host, int(port)) as client:
            client.ask(17, 1, SaslHandshakeRequest(mechanism="PLAIN"))
            client.ask(36, 2, SaslAuthenticateRequest(auth_bytes=plain_token("alice", PASSWORD)))
            answer = client.ask(3, 9, MetadataRequest(topics=[]))
        assert ",".join(f"{each.host}:{each.port}" for each in answer.brokers) == broker.security("SASL").bootstrap
        ports = {port for name in ALL for port in broker.security(name).bootstrap.split(",")}
        assert len(ports) == 8 and broker.security("BOTH").bootstrap.startswith("[::1]:")


def test_added_node_has_every_listener() -> None:
    with Broker(listeners=ALL, users=USERS) as broker:
        assert broker.add_node() == 2
        assert [len(broker.security(name).bootstrap.split(",")) for name in ALL] == [2, 2, 2, 2]


def test_ready_line_has_listeners_and_certificates(tmp_path: Path) -> None:
    with Broker(listeners=ALL, users=USERS, tls_dir=tmp_path / "tls") as broker:
        line = json.loads(broker._up().ready_line())
        assert {name: each["protocol"] for name, each in line["listeners"].items()} == {
            name: address.partition(":")[0] for name, address in ALL.items()
        }
        keys = [Path(path) for name, path in line["tls"].items() if name.endswith("key")]
        assert [stat.S_IMODE(os.stat(path).st_mode) for path in keys] == [0o600, 0o600]
    assert keys[0].exists(), "a folder that the user named is kept"


def test_temporary_certificates_are_removed_at_the_end() -> None:
    with Broker(listeners={"TLS": "SSL://127.0.0.1:0"}) as broker:
        ca = broker.security("TLS").ca
        assert ca is not None and Path(ca).exists()
    assert not Path(ca).parent.exists()


def test_certificates_of_the_user_are_served(tmp_path: Path) -> None:
    with Broker(listeners={"TLS": "SSL://127.0.0.1:0"}, tls_dir=tmp_path):
        pass
    own = {"tls_cert": tmp_path / "server.pem", "tls_key": tmp_path / "server-key.pem"}
    with Broker(listeners={"TLS": "SSL://127.0.0.1:0"}, **own) as broker:
        assert broker.security().ca is None
        host, _, port = broker.bootstrap.rpartition(":")
        assert "BEGIN CERTIFICATE" in ssl.get_server_certificate((host, int(port)), ca_certs=str(tmp_path / "ca.pem"))


def test_throw_away_certificate_names_the_hosts_that_clients_are_told(tmp_path: Path) -> None:
    listeners = {"TLS": "SSL://127.0.0.1:0", "LOCAL": "SSL://[::1]:0"}
    with Broker(listeners=listeners, advertise="kafka.example", tls_dir=tmp_path) as broker:
        assert broker.security("TLS").bootstrap.startswith("kafka.example:")
    certificate = x509.load_pem_x509_certificate((tmp_path / "server.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == {"localhost", "kafka.example"}
    assert {str(each) for each in names.get_values_for_type(x509.IPAddress)} == {"127.0.0.1", "::1"}


def test_certificate_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (bad := tmp_path / "bad.pem").write_text("no certificate")
    with pytest.raises(CannotStart, match="each has to be a PEM file"):
        Broker(listeners={"TLS": "SSL://127.0.0.1:0"}, tls_cert=bad, tls_key=bad).start()


def test_taken_port_names_the_listener() -> None:
    with Broker(listeners={"A": "PLAINTEXT://127.0.0.1:0"}) as broker:
        port = broker.bootstrap.rpartition(":")[2]
        with pytest.raises(CannotStart, match="choose another port, or 0 for a free one, for --listener B"):
            Broker(listeners={"B": f"SSL://127.0.0.1:{port}"}).start()


def test_users_change_while_the_cluster_runs() -> None:
    on = rig()
    on.command("set_user", name="carla", password="new")
    client = SaslClient(on)
    assert client.plain("carla", "new").error_code == 0
    assert SaslClient(on).scram("SCRAM-SHA-512", "carla", "new").error_code == 0
    on.command("remove_user", name="carla")
    assert client.serves and SaslClient(on).plain("carla", "new") is None
    with pytest.raises(ValueError, match="no user 'carla'"):
        on.command("remove_user", name="carla")


def test_no_secret_is_written_and_the_journal_is_replayed(tmp_path: Path) -> None:
    journal, secret = tmp_path / "run.jsonl", "xyzzy-secret"
    with Broker(listeners=ALL, users={"alice": secret}, journal=journal) as broker:
        broker.set_user("bob", secret + "2")
        for password in (secret, "wrong-" + secret):
            host, _, port = broker.security("SASL").bootstrap.rpartition(":")
            with Client(host, int(port)) as client:
                client.ask(17, 1, SaslHandshakeRequest(mechanism="PLAIN"))
                code = client.ask(36, 2, SaslAuthenticateRequest(auth_bytes=plain_token("alice", password))).error_code
            assert code == (0 if password == secret else 58)
        told = [journal.read_text(), broker.story() or "", repr(broker.security("SASL").confluent_kafka() | {"sasl.password": ""})]
    told.append(journal.read_text())
    assert secret not in "".join(map(str, told)) and "xyzzy" not in "".join(map(str, told))
    assert '"by_listener":true' in told[-1] and '"principal":"User:alice"' in told[-1]
    assert replay(journal).difference is None


@for_each("library", ["aiokafka", "confluent_kafka", "java", "kafka_python"])
def test_client_settings_name_protocol_authority_and_user(library: str) -> None:
    with Broker(listeners=ALL, users=USERS) as broker:
        told = getattr(broker.security("BOTH", mechanism="SCRAM-SHA-256", certificate=True), library)()
        assert "SASL_SSL" in told.values() and "SCRAM-SHA-256" in told.values() and PASSWORD in repr(told)
        assert PASSWORD not in repr(getattr(broker.security("TLS"), library)())
        with pytest.raises(ConfigError, match="no user 'bob' has a password: there are alice"):
            broker.security("SASL", user="bob")
        with pytest.raises(ConfigError, match="no listener 'X': there are PLAIN, SASL, TLS, BOTH"):
            broker.security("X")


def test_story_names_who_failed_to_authenticate() -> None:
    with Broker(listeners=ALL, users=USERS) as broker:
        host, _, port = broker.security("SASL").bootstrap.rpartition(":")
        with Client(host, int(port)) as client:
            client.ask(17, 1, SaslHandshakeRequest(mechanism="PLAIN"))
            client.ask(36, 2, SaslAuthenticateRequest(auth_bytes=plain_token("alice", "wrong")))
        story = broker.story()
    assert "closed: SASL authentication (PLAIN) failed: user alice is unknown or has another password" in str(story)
