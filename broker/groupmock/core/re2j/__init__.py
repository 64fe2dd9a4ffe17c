"""Implements the regular expressions of RE2/J, which Kafka uses for subscriptions of consumer groups (KIP-848) and for patterns of
transactional ids (KIP-1152).

    classes.py    sets of characters: ranges, Perl's and POSIX's, Unicode's, upper and lower case
    unicode.py    Unicode as RE2/J 1.8 has it, as data
    syntax.py     the language: text -> postfix notation, or RE2/J's words for what is wrong
    matching.py   postfix notation -> automaton; `compiled(pattern)` and its Matcher

Python's `re` is no replacement: it accepts look-around and back references, which RE2/J refuses, and refuses some expressions that RE2/J
accepts. It also backtracks: `(a+)+b` takes twice as long with every further `a`, and the whole cluster would wait.
"""
