"""Describe journal rows for people: `teller.tell` describes groups, `sentences.sentence` a single row."""
