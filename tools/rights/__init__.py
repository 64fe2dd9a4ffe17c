"""Plays generated requests under generated ACLs on Apache Kafka and on the core, and compares the answers (python -m tools.rights)."""
