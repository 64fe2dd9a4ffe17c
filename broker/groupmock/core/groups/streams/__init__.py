"""This package has the streams groups (KIP-1071), whose coordinator distributes the tasks of a Kafka Streams topology."""
