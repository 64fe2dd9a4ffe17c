"""Generated exchanges: their scripts, names and settings, and the transcripts of plays."""
