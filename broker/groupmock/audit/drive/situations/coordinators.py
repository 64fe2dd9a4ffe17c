"""Situations of coordinators and topics. The coordinator moves, loads, is missing, or dies with its node. Partitions change their
leaders; topics grow, are deleted and come back."""

from __future__ import annotations

from groupmock_codec.api_keys import FIND_COORDINATOR, METADATA

from ...subjects import COORDINATOR_LOAD_IN_PROGRESS
from ..situation import IN_TIME, situation
from ..situation_stage import Stage, says


@situation("coordinator-moves-stable", "The coordinator moves to another node while the group is Stable.", "a FindCoordinator of a copy")
async def moves(stage: Stage) -> None:
    """Move the coordinator, so that heartbeats and commits are answered NOT_COORDINATOR (16)."""
    asked = stage.asks(FIND_COORDINATOR)
    stage.steer("move_coordinator", group=stage.group)
    await stage.happens(asked)


@situation(
    "coordinator-loads", "The coordinator moves to another node, which loads for three seconds (COORDINATOR_LOAD_IN_PROGRESS).",
    "an answer of that error to a request about the group, or a FindCoordinator, and the group Stable",
)  # fmt: skip
async def loads(stage: Stage) -> None:
    """Let the coordinator load, so that heartbeats are answered but commits and joins are refused."""
    found = stage.asks(FIND_COORDINATOR)
    loading = stage.hears("an answer that the coordinator loads", lambda row: says(row, COORDINATOR_LOAD_IN_PROGRESS))
    stage.steer("move_coordinator", group=stage.group, loading_ms=3000)
    await stage.until("a copy to hear of it", lambda: found.done or loading.done)


@situation(
    "coordinator-nowhere", "Nobody coordinates the group for a while (COORDINATOR_NOT_AVAILABLE), then another node does.",
    "three FindCoordinator requests of copies",
)  # fmt: skip
async def nowhere(stage: Stage) -> None:
    """Leave the group without a coordinator, so that copies must look for one again and again, with pauses."""
    asked = stage.asks(FIND_COORDINATOR, times=3)
    group = stage.group
    stage.steer("unload_coordinator", group=group)
    await stage.happens(asked)
    stage.steer("move_coordinator", group=group)


@situation("node-dies", "The coordinator's node dies and another one takes over.", "a FindCoordinator of a copy")
async def node_dies(stage: Stage) -> None:
    """Stop the coordinator's node, so that its connections break and its port refuses."""
    asked, node = stage.asks(FIND_COORDINATOR), stage.coordinator
    stage.steer("stop_node", node=node, clean=False)
    await stage.happens(asked)
    await stage.goes_on()
    stage.steer("start_node", node=node)


@situation("node-stops", "The coordinator's node is shut down in order, and comes back.", "a FindCoordinator of a copy")
async def node_stops(stage: Stage) -> None:
    """Stop the coordinator's node after it has answered the waiting requests."""
    asked, node = stage.asks(FIND_COORDINATOR), stage.coordinator
    stage.steer("stop_node", node=node, clean=True)
    await stage.happens(asked)
    await stage.goes_on()
    stage.steer("start_node", node=node)


@situation(
    "node-silent", "Nothing goes in or out of the coordinator's node, until the sessions of all copies have ended; then it goes on.",
    "the end of every session",
    excuses=IN_TIME,
)  # fmt: skip
async def node_silent(stage: Stage) -> None:
    """Stall the coordinator's node, so that sessions expire because nothing is received."""
    view, node = stage.view, stage.coordinator
    members = set() if view is None else {member.member_id for member in view.members}
    stage.steer("stall_node", node=node, ms=None)
    await stage.until("the end of every session", lambda: not _known(stage, members))
    stage.steer("start_node", node=node)


def _known(stage: Stage, members: set[str]) -> set[str]:
    view = stage.view
    return set() if view is None else members & {member.member_id for member in view.members}


@situation("leaders-move", "Every partition is led by another node.", "a Metadata request of a copy")
async def leaders_move(stage: Stage) -> None:
    """Move the leaders, so that fetches are refused with NOT_LEADER_OR_FOLLOWER (6) until the client asks for Metadata."""
    asked = stage.asks(METADATA)
    for partition in range(stage.partitions):
        leader = stage.running.cluster.topics.require_partition(stage.topic, partition).leader or 0
        stage.steer("move_leader", topic=stage.topic, partition=partition, node=1 + leader % stage.situation.nodes)
    await stage.happens(asked)


@situation(
    "unknown-topic", "The topic is not there when the copies subscribe to it; then it is created.",
    "a Metadata request of a copy before the topic is there, and the group Stable after", bare=True,
    settings={"auto.create.topics.enable": "false"},
)  # fmt: skip
async def unknown_topic(stage: Stage) -> None:
    """Start with a topic that does not exist yet, so that the group becomes Stable only after its creation."""
    stage.steer("create_topic", name=stage.topic, partitions=stage.partitions)


@situation("partitions-added", "The topic gets two more partitions.", "the next generation, Stable")
async def partitions_added(stage: Stage) -> None:
    """Add two partitions to the topic. The leader's client finds them in its metadata after metadata.max.age.ms at most, and joins again
    (SERVER-18)."""
    before = stage.generation
    stage.steer("grow_topic", name=stage.topic, partitions=stage.partitions + 2)
    await stage.next_round(before)


@situation("topic-returns", "The topic is deleted and created again.", "a Metadata request of a copy in between",
           settings={"auto.create.topics.enable": "false"})  # fmt: skip
async def topic_returns(stage: Stage) -> None:
    """Delete and recreate the topic, so that its offsets begin at 0 and its committed offsets are gone."""
    asked = stage.asks(METADATA)
    stage.steer("delete_topic", name=stage.topic)
    await stage.happens(asked)
    stage.steer("create_topic", name=stage.topic, partitions=stage.partitions)
