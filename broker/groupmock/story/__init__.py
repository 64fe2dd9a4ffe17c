"""A story describes for a person what journal rows show: `teller.tell` describes groups, `sentences.sentence` a single row."""
