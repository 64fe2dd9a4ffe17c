"""A running cluster: its start, the queries of in-process and HTTP callers, and waits for groups and fault rules."""
