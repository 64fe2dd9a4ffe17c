"""The differential check plays one generated exchange on a real broker and on groupmock's core, and compares the answers field by field.

`families/` generates, `script/` is what is played and what came of it, `play/` has the stages, `compare/` the runs over many seeds and
what is kept of them. `python -m tools.fidelity` is the program, docs/proof/fidelity.md what it has shown.
"""
