"""What stands in a cluster, written and read from outside: records as JSON Lines, offsets and lag, facts of topics, seed data.

Changes are commands (core.steering), hence rows of the journal that replay by themselves; what is read changes nothing and is no row.
"""
