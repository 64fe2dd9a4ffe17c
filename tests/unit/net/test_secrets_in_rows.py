"""Journal rows contain no credentials of clients, and the journal can still be replayed."""

from __future__ import annotations

from pathlib import Path

from cases import for_each

from groupmock import Broker
from groupmock.rig.replay import replay
from groupmock.rig.wire import Client
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from groupmock_codec.messages.k51_alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion

LONG = b"\0alice\0" + b"open sesame " * 20
SHORT = b"\1"


@for_each("version", [0, 1, 2])
@for_each("secret", [LONG, SHORT, b""])
def test_a_sasl_token_is_zeros_in_the_journal(version: int, secret: bytes, tmp_path: Path) -> None:
    journal = tmp_path / f"{version}-{len(secret)}.jsonl"
    with Broker(journal=journal) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            tags = {9: b"beside it"} if version == 2 else {}
            assert client.ask(36, version, SaslAuthenticateRequest(auth_bytes=secret, unknown_tags=tags)).error_code == 34
    text = journal.read_text()
    assert '"api_key":36' in text and "sesame" not in text and "b3BlbiBzZXNhbWU" not in text and "c2VzYW1l" not in text
    assert replay(journal).difference is None


@for_each("password", [LONG, b"sesame"])
def test_salt_and_password_of_a_scram_credential_are_zeros_in_the_journal(password: bytes, tmp_path: Path) -> None:
    journal = tmp_path / f"{len(password)}.jsonl"
    upsertion = ScramCredentialUpsertion(name="alice", mechanism=1, iterations=4096, salt=b"sesame", salted_password=password)
    with Broker(journal=journal) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        with Client(host, int(port), seconds=60) as client:
            (result,) = client.ask(51, 0, AlterUserScramCredentialsRequest(upsertions=[upsertion])).results
        assert (result.user, result.error_code) == ("alice", 0)
        assert "sesame" not in repr(broker.story())
    text = journal.read_text()
    assert '"api_key":51' in text and "alice" in text
    assert not [each for each in ("sesame", "b3BlbiBzZXNhbWU", "c2VzYW1l") if each in text]
    assert replay(journal).difference is None
