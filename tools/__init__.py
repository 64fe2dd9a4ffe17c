"""Tools for developing groupmock, which users do not get: comparisons with Kafka, generated pages, the gate. See CONTRIBUTING.md."""
