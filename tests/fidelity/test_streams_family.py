"""The streams family draws what streams groups can do, and its player keeps away from times at which chance decides on a broker."""

from __future__ import annotations

from typing import Final

from groupmock_clients.probe.language.exchange import Pause, Send
from groupmock_codec import api_keys
from groupmock_codec.units import NS_PER_MS
from tools.fidelity.families import family
from tools.fidelity.generated.script import Script, key_of, ms_of
from tools.fidelity.generated.transcript import imagined
from tools.fidelity.guided.core_player import STEP_MS, CorePlayer
from tools.fidelity.guided.streams_awaited import EARLY_MS, LATE_MS, StreamsAwaited

SEEDS: Final = range(150)
FIELDS: Final = (
    "topology", "instance_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "rack_id", "warmup_tasks",
    "shutdown_application",
)  # fmt: skip
"""The fields of heartbeats that have to be drawn with a value."""
APIS: Final = (
    api_keys.CREATE_TOPICS, api_keys.CREATE_PARTITIONS, api_keys.DELETE_TOPICS, api_keys.DELETE_GROUPS, api_keys.OFFSET_COMMIT,
    api_keys.OFFSET_FETCH, api_keys.INCREMENTAL_ALTER_CONFIGS, api_keys.STREAMS_GROUP_DESCRIBE,
    api_keys.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
)  # fmt: skip


def _player(script: Script) -> CorePlayer:
    """Return a player that has played the whole script."""
    player, now = CorePlayer(script, imagined(script)), 0.0
    for step in script.steps:
        now += ms_of(step) if isinstance(step, Pause) else STEP_MS
        player.play(step, now)
    return player


def test_streams_family_draws_every_field_api_and_error() -> None:
    sent, errors = [], set()
    for seed in SEEDS:
        player = _player(family("streams")(seed, "4.4"))
        for step, event in zip(player.steps, player.events, strict=True):
            if isinstance(step, Send):
                sent.append((key_of(step), player.memory.request(step).message))
                if key_of(step) == api_keys.STREAMS_GROUP_HEARTBEAT:
                    errors.add((event.answer or {})["error_code"])
    beats = [message for key, message in sent if key == api_keys.STREAMS_GROUP_HEARTBEAT]
    assert [field for field in FIELDS if not any(getattr(each, field) for each in beats)] == []
    assert [key for key in APIS if not any(key == each for each, _ in sent)] == []
    assert errors >= {-1, 0, 25, 42, 81, 110, 111}


def test_some_groups_are_made_again_with_another_topology() -> None:
    scripts = [family("streams")(seed, "4.4") for seed in SEEDS]
    several = 0
    for script in scripts:
        memory = CorePlayer(script, imagined(script)).memory
        beats = [memory.request(step).message for step in script.steps if isinstance(step, Send)]
        several += len({str(each.topology.subtopologies) for each in beats if getattr(each, "topology", None)}) > 2
    assert several >= 3


def test_no_request_is_sent_while_a_failure_may_or_may_not_be_remembered() -> None:
    script = family("streams")(0, "4.4")
    player = _player(script)
    edge = 100_000.0
    player.core.cluster.topics.failed_creations.note("t", "why", round(edge * NS_PER_MS))
    clear_of = StreamsAwaited(player, lambda *asked: asked[-1], lambda ms: None, player.facts).clear_of
    assert clear_of(edge - EARLY_MS - 1) == edge - EARLY_MS - 1
    assert clear_of(edge - 1) == clear_of(edge + LATE_MS - 1) == edge + LATE_MS
    assert clear_of(edge + LATE_MS) == edge + LATE_MS
