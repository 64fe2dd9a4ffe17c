"""The rules, one file each; what a rule is: ../rule.py."""
