"""Judges a client by what it sent: rules over journal rows, live or from a file.

A judge that shares the defendant's code agrees with its bugs: nothing here knows the core (docs/reference/architecture.md#rule-3).
"""
