"""A story tells a person what journal rows say: `teller.tell` tells of groups, `sentences.sentence` of one row."""
