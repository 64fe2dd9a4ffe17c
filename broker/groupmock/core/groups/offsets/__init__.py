"""Stores and reads the offsets that groups of any type commit."""
