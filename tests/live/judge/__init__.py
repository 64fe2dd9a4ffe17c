"""Kafka's own message classes judge the codec; needs java and the shared folder, a part of `make live`."""
