"""Runs over many seeds, what they have in common with Kafka and what not, and the plays that are kept."""
