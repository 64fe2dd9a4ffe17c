"""The shares family draws no exchange whose outcome chance decides on a broker."""

from __future__ import annotations

from groupmock.core.share.runs import ACQUIRED
from groupmock_clients.probe.language.exchange import Pause, Send
from groupmock_codec.units import NS_PER_MS
from tools.fidelity.families import family
from tools.fidelity.generated.script import Script, ms_of
from tools.fidelity.generated.transcript import imagined
from tools.fidelity.guided.core_player import STEP_MS, CorePlayer


def _ends_of_split_locks(player: CorePlayer) -> list[int]:
    """Return when the locks of records of split batches end, as times of the virtual clock."""
    batches = [batch for each in player.core.cluster.shares.partitions.values() for batch in each.states.batches if batch.split]
    return [run.deadline for batch in batches for run in batch.runs if run.state == ACQUIRED]


def _races(script: Script) -> list[int]:
    """Return the steps whose request waited while the lock of a record of a split batch ended."""
    player, now, found = CorePlayer(script, imagined(script)), 0.0, []
    waiting: dict[int, list[int]] = {}
    for index, step in enumerate(script.steps):
        now += ms_of(step) if isinstance(step, Pause) else STEP_MS
        player.play(step, now)
        found += [each for each, ends in waiting.items() if any(end <= now * NS_PER_MS for end in ends)]
        waiting = {each: ends for each, ends in waiting.items() if player.parked(each)}
        if isinstance(step, Send) and player.parked(index):
            waiting[index] = _ends_of_split_locks(player)
    return sorted(set(found))


def test_no_fetch_waits_while_locks_of_a_split_batch_end() -> None:
    """Kafka ends the locks of such records one by one, and wakes the fetch after the first one.
    The family drew such a wait for this seed."""
    assert _races(family("shares")(930453, "4.4")) == []
