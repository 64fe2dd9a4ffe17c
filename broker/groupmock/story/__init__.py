"""Journal rows to a story that a person reads: `teller.tell` of groups, `sentences.sentence` of one row."""
