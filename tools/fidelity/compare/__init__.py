"""Compare the core with Kafka over many seeds, and keep some plays as a golden corpus, which records Kafka's answers."""
