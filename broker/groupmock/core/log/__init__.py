"""The data plane: topics, partitions, what producers may write and how fetches wait.

Where it knowingly differs from Apache Kafka 4.3 (tests/unit/core/log/test_where_the_log_differs.py shows each line):

- One copy of each record: every replica on a node that runs is in sync, and no follower's high watermark lags, unless somebody orders
  it (lag_replica). No tiered storage.
- Compaction comes by command only (compact_topic): min.cleanable.dirty.ratio and the cleaner's pauses wait for nobody. Bytes
  (retention.bytes) drop batch by batch, with the next append; age (retention.ms) drops whole segments, as on Kafka.
- Compression other than none and gzip is not opened by compaction, which leaves such batches whole, nor where
  groupmock.compression.open is off: broken bytes are taken then, keys of compacted topics and timestamps are not looked at, and a look-up
  by timestamp answers with the batch's first offset. compression.type other than `producer` does not compress anew.
- Markers of transactions outlive compaction.
- ListOffsets v0 knows one segment, and a fetch does not end where a segment does.
- Partition leaders follow from the topic's name; leaders and the controller move by command only, or when their node is stopped.
- Two topics of one CreateTopics request that collide by '.' and '_' are told so under every profile (4.3 and 3.9 make both).
- AlterConfigs with a resource listed twice is refused (4.3 never answers; its profile does not either).
- Configs of clients and loggers are not served.
"""
