"""Reimplements hashes and hash maps of Java and Scala, whose orders clients can see, as pure functions without Kafka's objects."""
