"""Stop an aiokafka consumer completely, even if a fetch has failed or the coordinator is gone."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka.consumer.group_coordinator import GroupCoordinator

GRACE_S: Final = 1.0
"""The number of seconds that a look-up of the coordinator may still take if it is in progress."""


async def stop_wholly(consumer: Any) -> None:
    """Call `consumer.stop()` and finish the steps that aiokafka 0.14 skips after a failure. A cancellation of the caller is passed on.

    aiokafka cancels a fetch that waits for its next attempt and awaits it, and does not expect to be cancelled there (Fetcher.close,
    Fetcher._proc_fetch_request). stop() then ends with a CancelledError though nobody cancelled the caller, and its connections stay open.
    If the coordinator is unknown when the consumer stops, its last commit is retried for ever, because no task looks for a coordinator any
    more (GroupCoordinator.commit_offsets, ensure_coordinator_known). stop() then does not return.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    coordinator = _coordinator(consumer)
    watch = None if coordinator is None else asyncio.create_task(_give_up_without_a_coordinator(coordinator))
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        if task and task.cancelling() > before:
            raise
        await _rest(consumer)
    finally:
        if watch is not None:
            watch.cancel()


def _coordinator(consumer: Any) -> GroupCoordinator | None:
    """Return the consumer's coordinator, or None if it has no group or was not started. A CooperativeConsumer has none, because its
    halves are stopped one by one."""
    found = getattr(consumer, "_coordinator", None)
    return found if isinstance(found, GroupCoordinator) else None


async def _give_up_without_a_coordinator(coordinator: GroupCoordinator) -> None:
    """Cancel the coordination of a stopping consumer that has no coordinator to commit to."""
    await asyncio.sleep(GRACE_S)
    while coordinator.coordinator_id is not None:  # noqa: ASYNC110  # aiokafka tells nobody
        await asyncio.sleep(GRACE_S)
    coordinator._coordination_task.cancel()


async def _rest(consumer: Any) -> None:
    """Run the steps of the consumer's `stop()` that follow the failed step."""
    await asyncio.gather(consumer._fetcher.close(), return_exceptions=True)
    left = set(consumer._fetcher._pending_tasks)
    coordinator = _coordinator(consumer)
    if coordinator is not None:
        left |= {coordinator._heartbeat_task, coordinator._commit_refresh_task} - {None}
    for each in left:
        each.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await consumer._client.close()
