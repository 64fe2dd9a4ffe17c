"""Whatever bytes one connection brings, in whatever pieces: the server has no defect, answers in whole frames, and keeps nothing of it.

Case: `pieces`: base64, in the order in which they arrive, a virtual millisecond apart.
"""

from __future__ import annotations

from found import Case, Property, unpacked

from groupmock.core.groups.classic.group import Group
from groupmock.journal.journal import Sink
from groupmock.journal.rows import NoteRow, Row
from groupmock.rig import WireRig
from groupmock.rig.wire import frames_of


class Defects(Sink):
    """What the server says about itself."""

    kinds = frozenset(("note",))

    def __init__(self) -> None:
        self.found: list[str] = []

    def take(self, row: Row) -> None:
        if isinstance(row, NoteRow) and row.what == "internal error":
            self.found.append(f"{row.fields.get('where')}: {row.fields.get('error')}")


def _holds(case: Case) -> None:
    defects = Defects()
    rig = WireRig.make(topics={"t": 2}, sinks=[defects])
    wire = rig.connect()
    for piece in case["pieces"]:
        wire.send(unpacked(piece))
        rig.sleep(1)
    assert not defects.found, defects.found[0]
    assert frames_of(wire.data)[1] == b"", "half an answer"
    wire.hang_up()
    assert rig.driver.counters.held_bytes == 0 and not rig.driver.connections, "something is held for nobody"
    for group in rig.core.cluster.groups.all():
        if isinstance(group, Group):
            group.invariants()


DRIVER_BYTES = Property("driver-bytes", _holds)
