"""Offsets that groups have committed, for groups of any type."""
