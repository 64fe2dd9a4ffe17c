"""Reads and writes the data of a cluster from outside: records as JSON Lines, offsets and lag, facts about topics, and seed data.

Changes are commands (core.steering), which become rows of the journal and are replayed. Reading changes nothing and writes no row.
"""
