"""Hashes and hash maps of Java and Scala, as far as clients can see them: pure functions that know nothing of Kafka's objects."""
