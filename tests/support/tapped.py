"""Records every connection of a rig as a proxy would, in addition to the journal of the rig."""

from __future__ import annotations

from collections.abc import Mapping

from wire_stage import WireStage

from groupmock.journal.journal import Journal
from groupmock.net.connection import Connection
from groupmock.record.dialogue import Dialogue, Line, header
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import frames_of
from groupmock.rig.wire_rig import Wire


class TappedWire(Wire):
    """A connection to the rig whose bytes are also recorded."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__()
        self.dialogue = dialogue
        self.line: Line
        self._asked = b""
        self._answered = b""

    def open(self, connection: Connection) -> None:
        self._now = connection.driver.now
        host = connection.client_host.removeprefix("/")
        self.line = self.dialogue.opened(connection.number, connection.node, host, connection.port, self._now())
        super().open(connection)

    def send(self, data: bytes) -> None:
        if not self.closed:
            frames, self._asked = frames_of(self._asked + data)
            for frame in frames:
                self.dialogue.asked(self.line, frame, self._now())
        super().send(data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            frames, self._answered = frames_of(self._answered + bytes(data))
            for frame in frames:
                self.dialogue.answered(self.line, frame, self._now())
        super().write(data)

    def hang_up(self) -> None:
        if not self.closed:
            reason = "the client closed" + (", with a request unanswered" if self.line.pending else "")
            self.dialogue.closed(self.line, "client", reason, self._now(), len(self._asked))
        super().hang_up()

    def close(self) -> None:
        if not self.closed:
            self.dialogue.closed(self.line, "server", "the node closed the connection", self._now(), len(self._asked))
        super().close()


class TappedStage(WireStage):
    """A stage with two sets of rows: `kept` comes from the rig, `recorded` from the recording."""

    kind = "core"

    def __init__(self, settings: Mapping[str, str], release: str, seed: int = 1) -> None:
        super().__init__(settings, release, details=True, seed=seed)
        self.recorded = KeptRows(heartbeats=True, details=True)
        journal = Journal(header("tapped", self.rig.clock.epoch_ns, {}), [self.recorded])
        journal.begin()
        self.dialogue = Dialogue(journal, beats=True)

    def connect(self) -> TappedWire:
        return self.rig.plug(TappedWire(self.dialogue))

    def close(self) -> None:
        super().close()
        self.dialogue.ended()
