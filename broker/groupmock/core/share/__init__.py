"""Share partitions: what the share groups (KIP-932) know of the records of a partition, and the sessions in which members fetch them."""
