"""One open request: what the driver, the gates, the rows and the answer need to know of it, from its last byte to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message

    from ..faults.plan import Rule
    from .codecs import ApiCodec
    from .connection import Connection


class Call(msgspec.Struct, eq=False):
    """A request that was read and decoded, once. Its connection is mute while it is open: see the theory in `net.driver`.

    Kafka's RequestChannel.Request, with the header it was read by and the message that came out. It is gone when it is answered, so that an
    idle connection keeps no frame, which may be as long as socket.request.max.bytes.
    """

    connection: Connection
    codec: ApiCodec
    frame: bytes  # without its length
    client_id: str | None
    message: Message | None  # see `asked`
    end: int  # of the message in the frame; Kafka ignores what is behind it
    received: int  # ns of the run: when its last byte came
    handled: int  # when its turn came: later, if it waited behind another one
    ticket: int = 0  # given by `Tickets.open`
    quiet: bool = False  # a heartbeat that changed nothing: its rows are for those who want all of them
    told: bool = False  # one of these that is no mere repetition of the one before it
    hidden: bool = False  # one of these that nobody wants to hear of
    protocol_type: str | None = None  # of the group that a JoinGroup or SyncGroup is about, where a row needs it
    recorded: bool = False  # its row is there already, because a fault rule struck it
    held_by: Rule | None = None  # the fault rule that lets it wait
    go_on: Callable[[int], None] | None = None  # what happens when that wait is over

    @property
    def correlation(self) -> bytes:
        """The client's own number of it, as it stands in the frame."""
        return self.frame[4:8]

    def asked(self) -> Message:
        """The message. A request that is parked while there is no fault rule keeps its frame alone, the smaller of the two: should a rule
        come meanwhile and ask, it is read again."""
        if self.message is None:
            self.message = self.codec.decode(self.frame, self.codec.header(self.frame)[1])[0]
        return self.message

    def narrow(self, message: Message) -> None:
        """This is asked in its place: a fault rule took a part of it. It is not read again, since a gate is there until it is answered."""
        self.message = message
