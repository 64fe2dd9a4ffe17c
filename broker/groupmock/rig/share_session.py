"""A scripted member of a share group: it fetches records in a share session, and acknowledges them. It heartbeats only if the test does,
because fetching needs no membership."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79
from groupmock_codec.messages.k78_share_fetch import ShareFetchRequest, ShareFetchResponse
from groupmock_codec.messages.k79_share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse

if TYPE_CHECKING:
    from .ask import Ask
    from .core_rig import CoreRig

FINAL = -1
Partition = tuple[str, int]
Acknowledgements = Mapping[Partition, Sequence[tuple[int, int, int | Sequence[int]]]]
"""Maps a partition to what is acknowledged there: first offset, last offset, and one type for all or a type for each offset."""


class ShareSession:
    """The share session of one member on one node. `epoch` is that of its next request, and `held` what it got last: by partition, the runs
    of first offset, last offset and delivery count."""

    def __init__(self, rig: CoreRig, group: str, member_id: str, *, node: int = 1, connection: str | None = None, version: int = 2) -> None:
        self.rig, self.group, self.member_id, self.node, self.version = rig, group, member_id, node, version
        self.connection = connection or f"{group}/{member_id}@{node}"
        self.epoch = 0

    def send(
        self,
        *partitions: Partition,
        acknowledge: Acknowledgements | None = None,
        max_records: int = 500,
        batch_size: int = 500,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 1_048_576,
        mode: int = 0,
        renew: bool = False,
        forget: Iterable[Partition] = (),
        epoch: int | None = None,
        **how: Any,
    ) -> Ask:
        """Send a ShareFetch without moving the clock. `partitions` join the session."""
        wanted: dict[bytes, dict[int, list[k78.AcknowledgementBatch]]] = {}
        for topic, partition in partitions:
            wanted.setdefault(self._id(topic), {}).setdefault(partition, [])
        for (topic, partition), batches in (acknowledge or {}).items():
            wanted.setdefault(self._id(topic), {})[partition] = [
                k78.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=_types(kinds))
                for first, last, kinds in batches
            ]
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            max_wait_ms=0 if renew else max_wait_ms,
            min_bytes=0 if renew else min_bytes,
            max_bytes=0 if renew else max_bytes,
            max_records=0 if renew else max_records,
            batch_size=batch_size,
            share_acquire_mode=mode,
            is_renew_ack=renew,
            topics=[
                k78.FetchTopic(
                    topic_id=topic_id,
                    partitions=[k78.FetchPartition(partition_index=index, acknowledgement_batches=each) for index, each in found.items()],
                )
                for topic_id, found in wanted.items()
            ],
            forgotten_topics_data=[k78.ForgottenTopic(topic_id=self._id(topic), partitions=[index]) for topic, index in forget],
        )
        self._went_on(epoch)
        return self.rig.send(78, self.version, request, node=self.node, connection=self.connection, **how)

    def fetch(self, *partitions: Partition, **how: Any) -> ShareFetchResponse:
        """Fetch, and let the time pass that the answer takes, at most the fetch's max wait."""
        ask = self.send(*partitions, **how)
        self.rig.until(lambda: ask.answer is not None, how.get("max_wait_ms", 500) + 1)
        answer = ask.answer
        assert isinstance(answer, ShareFetchResponse)
        return answer

    def take(self, *partitions: Partition, **how: Any) -> list[tuple[int, int, int]]:
        """Fetch, and return what was acquired: first offset, last offset and delivery count of each run, of all partitions."""
        return [run for runs in self.acquired(self.fetch(*partitions, **how)).values() for run in runs]

    def acquired(self, answer: ShareFetchResponse) -> dict[Partition, list[tuple[int, int, int]]]:
        """Return what an answer says was acquired, by partition."""
        assert answer.error_code == 0, answer
        name_of = self.rig.core.cluster.topics.name_of
        return {
            (name_of(topic.topic_id) or "", row.partition_index): [
                (each.first_offset, each.last_offset, each.delivery_count) for each in row.acquired_records
            ]
            for topic in answer.responses
            for row in topic.partitions
            if row.acquired_records
        }

    def acknowledge(self, acknowledgements: Acknowledgements, *, renew: bool = False, epoch: int | None = None) -> dict[Partition, Any]:
        """Send a ShareAcknowledge, and return the error code and text of each partition, or of the whole request under ("", -1)."""
        request = ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            is_renew_ack=renew,
            topics=[
                k79.AcknowledgeTopic(
                    topic_id=self._id(topic),
                    partitions=[
                        k79.AcknowledgePartition(
                            partition_index=partition,
                            acknowledgement_batches=[
                                k78.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=_types(kinds))
                                for first, last, kinds in batches
                            ],
                        )
                    ],
                )
                for (topic, partition), batches in acknowledgements.items()
            ],
        )
        answer = self.rig.ask(79, self.version, request, node=self.node, connection=self.connection)
        assert isinstance(answer, ShareAcknowledgeResponse)
        if answer.error_code:
            return {("", -1): (answer.error_code, answer.error_message)}
        self._went_on(epoch)
        name_of = self.rig.core.cluster.topics.name_of
        return {
            (name_of(topic.topic_id) or "", row.partition_index): (row.error_code, row.error_message)
            for topic in answer.responses
            for row in topic.partitions
        }

    def close(self, acknowledgements: Acknowledgements | None = None) -> dict[Partition, Any]:
        """End the session with a ShareAcknowledge of epoch -1."""
        return self.acknowledge(acknowledgements or {}, epoch=FINAL)

    def hang_up(self) -> None:
        """Close the connection, as a crashed member does."""
        self.rig.hang_up(self.connection)
        self.epoch = 0

    def _went_on(self, epoch: int | None) -> None:
        self.epoch = (self.epoch if epoch is None else epoch) + 1

    def _id(self, topic: str) -> bytes:
        return self.rig.core.cluster.topics.topic_id(topic) or topic.encode().ljust(16, b"?")[:16]


def _types(kinds: int | Sequence[int]) -> list[int]:
    return [kinds] if isinstance(kinds, int) else list(kinds)
