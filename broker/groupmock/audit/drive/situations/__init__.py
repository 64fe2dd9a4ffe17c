"""The situations of conformance runs are declared here, with a file for each theme. `../situation.py` says what a situation is."""
