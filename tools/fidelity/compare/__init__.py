"""Compare the core with Kafka over many seeds, and keep plays as a golden corpus."""
