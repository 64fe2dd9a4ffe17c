"""Maps the codec's field names, which are those of Kafka 4.3, to the names in other releases, by message type."""

from __future__ import annotations

from typing import Any, Final

OF_2_8: Final[dict[str, dict[str, str]]] = {
    "FetchResponse": {"partitions": "partitionResponses", "partitionIndex": "partition", "records": "recordSet"},
    "DescribeLogDirsRequest": {"partitions": "partitionIndex"},
    "ElectLeadersRequest": {"partitions": "partitionId"},
    "OffsetCommitRequest": {"generationIdOrMemberEpoch": "generationId"},
    "AddPartitionsToTxnRequest": {
        "v3AndBelowTransactionalId": "transactionalId",
        "v3AndBelowProducerId": "producerId",
        "v3AndBelowProducerEpoch": "producerEpoch",
        "v3AndBelowTopics": "topics",
    },
    "AddPartitionsToTxnResponse": {
        "resultsByTopicV3AndBelow": "results",
        "resultsByPartition": "results",
        "partitionErrorCode": "errorCode",
    },
}

OTHERS: Final[dict[str, dict[str, dict[str, str]]]] = {
    "2.8.2": OF_2_8,
    "4.3.0": {"StreamsGroupHeartbeatResponse": {"acceptableRecoveryLagLegacy": "acceptableRecoveryLag"}},
    # In 4.4.0 the generation field of TxnOffsetCommit has another name, because KIP-1319 renamed it.
    "4.4.0": {"TxnOffsetCommitRequest": {"generationId": "generationIdOrMemberEpoch"}},
}


def theirs(release: str, kind: str, shown: Any) -> Any:
    """Rename the fields of JSON to the names of the release."""
    names = OTHERS.get(release, {}).get(kind)
    return _renamed(shown, names) if names else shown


def _renamed(shown: Any, names: dict[str, str]) -> Any:
    if isinstance(shown, dict):
        return {names.get(name, name): _renamed(value, names) for name, value in shown.items()}
    return [_renamed(each, names) for each in shown] if isinstance(shown, list) else shown


def ours(release: str, kind: str, shown: Any) -> Any:
    """Rename the fields of a release's JSON to the codec's names. Where 2.8 uses one name on two levels, `above` says which is meant."""
    names = OTHERS.get(release, {}).get(kind)
    return _modern(shown, names, "") if names else shown


def _modern(shown: Any, names: dict[str, str], above: str) -> Any:
    if isinstance(shown, list):
        return [_modern(each, names, above) for each in shown]
    if not isinstance(shown, dict):
        return shown
    found = {}
    for name, value in shown.items():
        candidates = [new for new, old in names.items() if old == name]
        new = name if not candidates else candidates[-1] if above else candidates[0]
        if name == "errorCode" and not above.startswith("resultsByPartition"):
            new = name
        found[new] = _modern(value, names, new)
    return found
