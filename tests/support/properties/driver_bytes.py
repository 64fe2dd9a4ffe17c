"""Whatever bytes a connection sends, in whatever pieces, the server answers in whole frames and keeps nothing afterwards.

Case: `pieces`: base64, in the order in which they arrive, a virtual millisecond apart.
"""

from __future__ import annotations

from found import Case, Property, unpacked

from groupmock.core.groups.classic.group import Group
from groupmock.rig import KeptRows, WireRig
from groupmock.rig.wire import frames_of


def _holds(case: Case) -> None:
    notes = KeptRows(kinds=["note"])
    rig = WireRig.make(topics={"t": 2}, sinks=[notes])
    wire = rig.connect()
    for piece in case["pieces"]:
        wire.send(unpacked(piece))
        rig.sleep(1)
    defects = [f"{note.fields.get('where')}: {note.fields.get('error')}" for note in notes.of("note") if note.what == "internal error"]
    assert not defects, defects[0]
    assert frames_of(wire.data)[1] == b"", "half an answer"
    wire.hang_up()
    assert rig.driver.counters.held_bytes == 0 and not rig.driver.connections, "something is held for nobody"
    for group in rig.core.cluster.groups.all():
        if isinstance(group, Group):
            group.invariants()


DRIVER_BYTES = Property("driver-bytes", _holds)
