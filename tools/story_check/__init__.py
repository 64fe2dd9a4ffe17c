"""Judge stories: `python -m tools.story_check JOURNAL ...` says which lines of a journal's stories its rows contradict.

`claims` reads the printed lines back, `history` collects the facts from the rows, `judge` compares both. They share no code with
`groupmock.story` and `groupmock.rounds`, because a judge that shares the defendant's code agrees with its bugs; an import contract keeps
it so. `lies` alters true stories, so that a test can see each altered line found.
"""
