"""The situations, a file for each theme. `../situation.py` says what a situation is."""
