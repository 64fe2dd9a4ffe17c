"""Kafka's own message classes check the codec. This part of `make live` needs Java and the shared folder."""
