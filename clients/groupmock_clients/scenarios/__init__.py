"""Scenarios: what a process death, a rolling bounce, scaling and the like cost a group, measured.

`catalogue` has them as data, `play` plays one on a stage: stock clients over TCP (`live`) or scripted members on a virtual clock
(`virtual`). What is measured (`measure`) comes from the journal alone, the `client` rows that the stages append to it included.
"""
