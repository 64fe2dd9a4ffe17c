"""The differential check: one generated exchange, played on a real broker and on our core, compared field by field.

`script.py` is what is played, `transcript.py` what came of it; `core_player.py` and `tcp_player.py` are the stages, `canonical.py`
compares, `families/` generates. `python -m tools.fidelity` is the program, docs/fidelity.md what it has shown.
"""
