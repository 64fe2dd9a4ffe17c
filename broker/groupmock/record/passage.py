"""A large answer with records is read while it passes to its client (`record.abridged`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import CodecError

from .abridged import Abridged
from .addresses import rewrite
from .cutting import MOST_READ, Refused

if TYPE_CHECKING:
    from .relay import Relay
    from .wire_codec import WireCodec


class Passage:
    """Passes a large answer with records on and reads it meanwhile. Pieces are kept back while addresses may follow."""

    def __init__(self, relay: Relay, codec: WireCodec, size: int) -> None:
        self.relay = relay
        self.abridged = Abridged(codec, size)
        self._kept_back: list[bytes] = []
        self._held = 0  # Bytes of this answer that count for the recording's limit (`House.held`).

    def feed(self, data: bytes) -> None:
        """Pass the next bytes on, then digest them, so that the client does not wait for the digest. Raises Refused."""
        held, before = self.relay.house.held, len(self.abridged.kept)
        self.abridged.feed(data)
        self._kept_back.append(data)
        self._hold(len(self.abridged.kept) - before + len(data))
        if held.full:
            raise Refused(held.refusal)
        if len(self.abridged.kept) > MOST_READ:
            raise Refused(f"an answer has more than {MOST_READ} bytes beside its records, and so many are not read")
        if not self.abridged.may_tell:
            self._let_go()
        self.abridged.digest()

    def end(self) -> None:
        """Send the rest of the answer, in which addresses are replaced by the recording's own."""
        if self._kept_back and self._tells():
            frame = b"".join(self._kept_back)[4:]
            self.drop()
            self.relay.tell(self.abridged.codec, frame)
            return
        self._let_go()
        self.drop()
        self.relay.record_abridged(self.abridged)

    def drop(self) -> None:
        """Release the bytes that were kept back."""
        self._kept_back.clear()
        self._hold(-self._held)

    def _tells(self) -> bool:
        codec = self.abridged.codec
        try:
            return rewrite(codec.key, codec.version, self.abridged.read(), self.relay.house.upstream.translate)
        except CodecError:
            return False  # An answer that cannot be decoded cannot be changed; a note says so when the answer is recorded.

    def _let_go(self) -> None:
        for data in self._kept_back:
            self.relay.client.write(data)
            self._hold(-len(data))
        self._kept_back.clear()

    def _hold(self, change: int) -> None:
        self._held += change
        self.relay.house.held.bytes += change
