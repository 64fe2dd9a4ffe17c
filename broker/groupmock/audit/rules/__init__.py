"""The rules, one file each. `../rule.py` says what a rule is."""
