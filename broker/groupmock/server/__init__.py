"""The cluster while it runs: its start, what in-process and HTTP callers ask of it, and waits for groups and fault rules."""
