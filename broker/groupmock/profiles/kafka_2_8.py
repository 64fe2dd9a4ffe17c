"""Apache Kafka 2.8.2, ZooKeeper based, the old Scala coordinator: rows as a running broker answered them.

APIs without a behaviour here are cut when advertised.
"""

from __future__ import annotations

from . import KAFKA_DEFAULTS, Profile

PROFILE = Profile(
    name="kafka-2.8",
    about="Apache Kafka 2.8.2, ZooKeeper based, the old Scala coordinator.",
    versions={
        0: (0, 9),  # Produce
        1: (0, 12),  # Fetch
        2: (0, 6),  # ListOffsets
        3: (0, 11),  # Metadata
        8: (0, 8),  # OffsetCommit
        9: (0, 7),  # OffsetFetch
        10: (0, 3),  # FindCoordinator
        11: (0, 7),  # JoinGroup
        12: (0, 4),  # Heartbeat
        13: (0, 4),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 5),  # DescribeGroups
        16: (0, 4),  # ListGroups
        18: (0, 3),  # ApiVersions
        19: (0, 7),  # CreateTopics
        20: (0, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 4),  # InitProducerId
        23: (0, 4),  # OffsetForLeaderEpoch
        24: (0, 3),  # AddPartitionsToTxn
        25: (0, 3),  # AddOffsetsToTxn
        26: (0, 3),  # EndTxn
        28: (0, 3),  # TxnOffsetCommit
        32: (0, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        37: (0, 3),  # CreatePartitions
        42: (0, 2),  # DeleteGroups
        44: (0, 1),  # IncrementalAlterConfigs
        47: (0, 0),  # OffsetDelete
        60: (0, 0),  # DescribeCluster
    },
    settings=KAFKA_DEFAULTS,
    quirks=frozenset(),
    features=(),
    finalized_features_epoch=0,
)
