"""Plays exchanges: on our core, and on a broker over the probe's TCP stage with the core as its guide; bytes on both."""
