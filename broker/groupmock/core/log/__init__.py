"""The data plane: topics, partitions, what producers may write and how fetches wait.

Where it knowingly differs from Apache Kafka 4.3:

- One copy of each record, all replicas in sync at once; a follower's high watermark never lags. No tiered storage.
- Records are dropped by bytes (retention.bytes) only, batch by batch: neither by age nor by compaction; both configs are kept.
- Compression other than none and gzip is not opened: broken bytes are taken, keys of compacted topics are not looked for, and a
  look-up by timestamp answers with the batch's first offset. compression.type other than `producer` does not compress anew.
- The topics of the coordinators hold no records: what groups remember lies beside them (core/group/storage.py).
- No transactions: InitProducerId with a transactional id is refused with 35, a transactional batch with 49.
- A log is one segment, which shows in ListOffsets v0 and where a fetch ends.
- Partition leaders follow from the topic's name; leaders and the controller move only when told to.
- Two topics of one CreateTopics request that collide by '.' and '_' are told so (4.3 makes both, 2.8 does not).
- AlterConfigs with a resource listed twice is refused (Kafka's handler dies and nobody answers).
- Topic configs are those of 4.3 under every profile; texts of errors too. Configs of groups, clients and loggers are not served.
"""
