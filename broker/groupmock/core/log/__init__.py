"""The data plane consists of topics, partitions, the checks of produced records, and waiting fetches.

Where it knowingly differs from Apache Kafka 4.3 (tests/unit/core/log/test_where_the_log_differs.py shows each line):

- One copy of each record is kept: every replica on a running node is in sync, and no follower's high watermark lags, unless the
  command lag_replica orders it. There is no tiered storage.
- Compaction comes by command only (compact_topic): min.cleanable.dirty.ratio and the cleaner's pauses have no effect. Retention by size
  (retention.bytes) drops batch by batch, with the next append; retention by age (retention.ms) drops whole segments, as on Kafka.
- Compression other than none and gzip is never opened by compaction, which leaves such batches whole. Where groupmock.compression.open is
  off, appends and look-ups do not open it either: broken bytes are accepted, keys of compacted topics and timestamps are not checked, and
  a look-up by timestamp answers with the batch's first offset. A compression.type other than `producer` does not recompress.
- Markers of transactions outlive compaction.
- ListOffsets v0 knows one segment, and a fetch does not end where a segment does.
- Partition leaders follow from the topic's name; leaders and the controller move by command only, or when their node is stopped.
- Two topics of one CreateTopics request that collide by '.' and '_' are refused under every profile (4.3 and 3.9 make both).
- AlterConfigs with a resource listed twice is refused (4.3 never answers; its profile does not either).
- Configs of clients and loggers are not served.
"""
