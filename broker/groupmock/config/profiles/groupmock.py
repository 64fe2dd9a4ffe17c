"""groupmock's own profile is the widest: it has every version that any of Kafka 2.8 to 4.4 advertises, and the defaults of
`core.settings`."""

from __future__ import annotations

from . import FeatureLevel, Profile

PROFILE = Profile(
    name="groupmock",
    about="Kafka 4.4 semantics on the widest versions of 2.8 to 4.4, quick to start.",
    versions={
        0: (0, 13),  # Produce; without version 3 librdkafka cannot fetch records either (docs/kafka/clients.md#version-quirks, 4)
        1: (0, 18),  # Fetch
        2: (0, 11),  # ListOffsets
        3: (0, 13),  # Metadata
        8: (0, 10),  # OffsetCommit
        9: (0, 10),  # OffsetFetch
        10: (0, 6),  # FindCoordinator
        11: (0, 9),  # JoinGroup; the Java client 4.0.0 needs version 2 (docs/kafka/clients.md#version-tables-that-work)
        12: (0, 4),  # Heartbeat
        13: (0, 5),  # LeaveGroup
        14: (0, 5),  # SyncGroup
        15: (0, 6),  # DescribeGroups
        16: (0, 5),  # ListGroups
        17: (0, 1),  # SaslHandshake; refused, because every listener is PLAINTEXT
        18: (0, 5),  # ApiVersions; aiokafka sends version 0 only (docs/kafka/clients.md#version-quirks, 1)
        19: (0, 7),  # CreateTopics
        20: (0, 6),  # DeleteTopics
        21: (0, 2),  # DeleteRecords
        22: (0, 5),  # InitProducerId
        23: (0, 4),  # OffsetForLeaderEpoch
        24: (0, 5),  # AddPartitionsToTxn
        25: (0, 4),  # AddOffsetsToTxn
        26: (0, 5),  # EndTxn
        27: (0, 2),  # WriteTxnMarkers
        28: (0, 6),  # TxnOffsetCommit
        29: (0, 3),  # DescribeAcls
        30: (0, 3),  # CreateAcls
        31: (0, 3),  # DeleteAcls
        32: (0, 4),  # DescribeConfigs
        33: (0, 2),  # AlterConfigs
        34: (0, 2),  # AlterReplicaLogDirs
        35: (0, 5),  # DescribeLogDirs
        36: (0, 2),  # SaslAuthenticate; refused, because every listener is PLAINTEXT
        37: (0, 3),  # CreatePartitions
        42: (0, 3),  # DeleteGroups
        43: (0, 2),  # ElectLeaders
        44: (0, 1),  # IncrementalAlterConfigs
        45: (0, 1),  # AlterPartitionReassignments
        46: (0, 0),  # ListPartitionReassignments
        47: (0, 0),  # OffsetDelete
        48: (0, 1),  # DescribeClientQuotas
        49: (0, 1),  # AlterClientQuotas
        50: (0, 0),  # DescribeUserScramCredentials
        51: (0, 0),  # AlterUserScramCredentials
        55: (0, 2),  # DescribeQuorum
        57: (0, 2),  # UpdateFeatures
        60: (0, 2),  # DescribeCluster
        61: (0, 0),  # DescribeProducers
        65: (0, 0),  # DescribeTransactions
        66: (0, 2),  # ListTransactions
        68: (0, 1),  # ConsumerGroupHeartbeat
        69: (0, 1),  # ConsumerGroupDescribe
        74: (0, 1),  # ListConfigResources
        75: (0, 0),  # DescribeTopicPartitions
        76: (1, 1),  # ShareGroupHeartbeat
        77: (1, 1),  # ShareGroupDescribe
        78: (1, 2),  # ShareFetch
        79: (1, 2),  # ShareAcknowledge
        88: (0, 1),  # StreamsGroupHeartbeat
        89: (0, 1),  # StreamsGroupDescribe
        90: (0, 1),  # DescribeShareGroupOffsets
        91: (0, 0),  # AlterShareGroupOffsets
        92: (0, 0),  # DeleteShareGroupOffsets
        93: (0, 0),  # StreamsGroupTopologyDescriptionUpdate
    },
    settings={},
    # This profile has no quirks, not even those of 4.4, because the limit of a group's record makes large test groups hang.
    quirks=frozenset(),
    features=(
        FeatureLevel("metadata.version", 7, 33, 33),
        FeatureLevel("kraft.version", 0, 1, None),
        FeatureLevel("transaction.version", 0, 2, 2),
        FeatureLevel("group.version", 0, 1, 1),
        FeatureLevel("eligible.leader.replicas.version", 0, 1, 1),
        FeatureLevel("share.version", 0, 2, 2),
        FeatureLevel("streams.version", 0, 1, 1),
    ),
    finalized_features_epoch=15,
)
