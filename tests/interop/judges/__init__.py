"""The client matrix: stock clients judge Apache Kafka and groupmock by the same checks (see ../README.md)."""
