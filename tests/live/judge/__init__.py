"""Kafka's own message classes judge the codec; needs java and the shared folder, run by the gate."""
