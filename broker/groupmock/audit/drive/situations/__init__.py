"""The situations, a file for each theme; what a situation is: ../situation.py."""
