"""Scenarios measure what a process death, a rolling bounce or scaling costs a group.

`catalogue` has the scenarios as data. `play` plays one on a stage: stock clients over TCP (`live`) or scripted members on a virtual clock
(`virtual`). `measure` reads the journal alone, including the `client` rows that the stages append.
"""
