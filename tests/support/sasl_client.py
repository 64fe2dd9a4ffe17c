"""A client that authenticates itself on a rig, step by step."""

from __future__ import annotations

from typing import Any

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.wire import framed
from groupmock.rig.wire_rig import Wire, WireRig
from groupmock.security.client_side import ScramClient, plain_token
from groupmock.security.scram import NUMBERS
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k11_join_group import JoinGroupResponse
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

PASSWORD = "open sesame"
LISTENER = "SASL"


def rig(*, any_user: bool = False, **settings: Any) -> WireRig:
    """Make a rig whose nodes have a PLAINTEXT listener and one with SASL, which alice and bob may use."""
    users = None if any_user else {"alice": PASSWORD, "bob": PASSWORD}
    listeners = {"PLAIN": "PLAINTEXT", LISTENER: "SASL_PLAINTEXT"}
    return WireRig.make(listeners=listeners, users=users, any_user=any_user, topics={"orders": 2}, settings=settings)


def stable(on: WireRig, wire: Wire, member: ClassicMember, client_id: str = "rig") -> None:
    """Let a member join its group as the only one, with an assignment."""
    wire.side.client_id = client_id
    for code in (MEMBER_ID_REQUIRED, 0):
        wire.send(wire.side.ask(11, 5, member.join_request()))
        on.sleep(0)
        (frame,) = wire.take()
        answer = wire.side.pending.pop().read(frame)[1]
        assert isinstance(answer, JoinGroupResponse) and member.joined(answer) == code
    assert wire.ask(14, 3, member.sync_request({member.member_id: b"all"}), client_id).error_code == 0


class SaslClient:
    """A client with a connection to the SASL listener."""

    def __init__(self, on: WireRig) -> None:
        self.rig = on
        self.wire: Wire = on.connect(listener=LISTENER)

    def ask(self, key: int, version: int, message: Any = None, *, late: bool = False) -> Any:
        """Send a request and return its answer, or None if the connection was closed without one. `late`: nothing may come before the
        pause of a failed authentication is over."""
        self.wire.send(self.wire.side.ask(key, version, message))
        if late:
            self.rig.sleep(99)
            assert not self.wire.data and not self.wire.closed, "it came before the pause was over"
            self.rig.sleep(1)
        frames = self.wire.take()
        return self.wire.side.pending.pop().read(frames[0])[1] if frames else None

    def handshake(self, mechanism: str = "PLAIN", version: int = 1, *, late: bool = False) -> Any:
        return self.ask(17, version, SaslHandshakeRequest(mechanism=mechanism), late=late)

    def token(self, token: bytes, version: int = 2, *, late: bool = False) -> Any:
        return self.ask(36, version, SaslAuthenticateRequest(auth_bytes=token), late=late)

    def bare(self, token: bytes) -> list[bytes]:
        """Send a token without a header, and return the frames that came at once."""
        self.wire.send(framed(token))
        return self.wire.take()

    def plain(self, user: str = "alice", password: str = PASSWORD) -> Any:
        """Authenticate by PLAIN, and return the answer to the token."""
        assert self.handshake().error_code == 0
        return self.token(plain_token(user, password))

    def scram(self, mechanism: str, user: str = "alice", password: str = PASSWORD) -> Any:
        """Authenticate by SCRAM, check the server's proof, and return its last answer."""
        assert self.handshake(mechanism).error_code == 0
        client = ScramClient(NUMBERS[mechanism], user, password, "fyko+d2lbbFgONRv9qkxdawL")
        last = self.token(client.final(self.token(client.first()).auth_bytes))
        client.check(last.auth_bytes)
        return last

    @property
    def serves(self) -> bool:
        """True if the connection answers an ordinary request."""
        answer = self.ask(3, 9, MetadataRequest(topics=None))
        return answer is not None and not answer.topics[0].error_code
