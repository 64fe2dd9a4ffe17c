"""Implements the regular expressions of RE2/J, which Kafka uses for subscriptions of consumer groups (KIP-848) and for patterns of
transactional ids (KIP-1152).

    classes.py    sets of characters: ranges, Perl's and POSIX's, Unicode's, upper and lower case
    unicode.py    Unicode as RE2/J 1.8 has it, as data
    syntax.py     the language: text -> postfix notation, or RE2/J's words for what is wrong
    matching.py   postfix notation -> automaton; `compiled(pattern)` and its Matcher

Python's `re` would be the wrong judge and the wrong engine: it takes look-around and back references that RE2/J refuses, refuses what
RE2/J takes, and tries one way after the other: `(a+)+b` takes twice as long with every `a`, and all of the cluster waits.
"""
