"""Offsets that groups have committed, whatever the group's type."""
