"""Apache Kafka 3.9.1 with its default, the old Scala coordinator: rows and feature levels as a running broker answered them.

APIs without a behaviour here are cut when advertised.
"""

from __future__ import annotations

from . import KAFKA_DEFAULTS, FeatureLevel, Profile

PROFILE = Profile(
    name="kafka-3.9",
    about="Apache Kafka 3.9.1 with its default, the old Scala coordinator.",
    versions={
        0: (0, 11),  # Produce
        1: (0, 17),  # Fetch
        2: (0, 9),  # ListOffsets
        3: (0, 12),  # Metadata
        8: (0, 9),  # OffsetCommit
        9: (0, 9),  # OffsetFetch
        10: (0, 6),  # FindCoordinator
        11: (0, 9),  # JoinGroup
        12: (0, 4),  # Heartbeat
        13: (0, 5),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 5),  # DescribeGroups
        16: (0, 5),  # ListGroups
        18: (0, 4),  # ApiVersions
        19: (0, 7),  # CreateTopics
        20: (0, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 5),  # InitProducerId
        23: (0, 4),  # OffsetForLeaderEpoch
        24: (0, 5),  # AddPartitionsToTxn
        25: (0, 4),  # AddOffsetsToTxn
        26: (0, 4),  # EndTxn
        28: (0, 4),  # TxnOffsetCommit
        32: (0, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        37: (0, 3),  # CreatePartitions
        42: (0, 2),  # DeleteGroups
        44: (0, 1),  # IncrementalAlterConfigs
        47: (0, 0),  # OffsetDelete
        60: (0, 1),  # DescribeCluster
        68: (0, 0),  # ConsumerGroupHeartbeat
        69: (0, 0),  # ConsumerGroupDescribe
        75: (0, 0),  # DescribeTopicPartitions
    },
    settings=KAFKA_DEFAULTS,
    quirks=frozenset(),
    features=(FeatureLevel("metadata.version", 1, 21, 21), FeatureLevel("kraft.version", 0, 1, None)),
    finalized_features_epoch=8,
)
