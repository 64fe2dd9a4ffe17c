"""Kafka's own message classes judge the codec. This part of `make live` needs Java and the shared folder."""
