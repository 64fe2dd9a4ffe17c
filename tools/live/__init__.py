"""`make live`: everything that the machine's load or chance may decide, tried up to three times, and a report that refuses nothing."""
