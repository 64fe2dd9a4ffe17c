"""The rules of the audit, each in a file of its own. `../rule.py` says what a rule is."""
