"""Reading and writing of a cluster's data from outside: records as JSON Lines, offsets and lag, facts of topics, seed data.

Changes are commands (core.steering), which become rows of the journal and are replayed. Reading changes nothing and writes no row.
"""
