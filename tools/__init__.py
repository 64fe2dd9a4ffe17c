"""What this repository works with and no user gets: proofs against Kafka, pages, the gate. See CONTRIBUTING.md."""
