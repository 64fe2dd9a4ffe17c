"""Does a whole text match? In time linear in the text, whatever the expression.

The expression becomes an automaton with a node for each character class (Thompson 1968; R. Cox, https://swtch.com/~rsc/regexp/regexp1.html).
The automaton is in many places at once: in all that some way of reading the text so far leads to. Such a set of places is a state, and what
a character makes of a state is remembered, so that expressions that serve every day soon cost one look-up for each character. For others
a character costs at most a look at each node, of which `syntax.MOST_NODES` are the most.

What a place asks of its surroundings (^, $, word boundaries) depends on the characters beside it: their kinds are remembered with it.

What is matched is the whole text, as `Matcher.matches` of RE2/J does and as Kafka asks it to (TopicRegexResolver, TransactionStateManager).
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from typing import Final

from .classes import Ranges, holds
from .syntax import Joint, Look, Postfix, RegexRefused, parsed

TOO_MUCH_WORK: Final = "too many places at once for the names that there are"
MOST_STEPS: Final = 250_000
"""Bounds a match to about fifty milliseconds."""
LOOKS_AT_A_TIME: Final = 300
"""After so many, whoever asks may do something else."""
CHARACTERS_PER_STEP: Final = 4
"""Counted where a state is remembered already."""
MOST_REMEMBERED: Final = 100_000
"""Places in all states that are remembered; then they are forgotten and made anew."""
_EDGE, _WORD, _NEWLINE, _OTHER = range(4)
"""Kinds of characters; the edge is none: the text begins or ends."""


class Automaton:
    """An automaton with numbered nodes. A node with a class reads one such character and goes to `after[node][0]`. A node without a
    class goes to all of `after[node]` at once, where its `look` is true. The last node is the end."""

    __slots__ = ("after", "classes", "looks", "looks_around", "start")

    def __init__(self, postfix: Postfix) -> None:
        self.classes: list[Ranges | None] = []
        self.looks: list[Look] = []
        self.after: list[list[int]] = []
        self.start, open_ends = self._build(postfix)
        self.looks_around = any(self.looks)
        end = self._node(None)
        for node in open_ends:
            self.after[node].append(end)

    @property
    def end(self) -> int:
        """The node that is reached when the text matches."""
        return len(self.after) - 1

    def _node(self, ranges: Ranges | None, *after: int, look: Look = Look.ALWAYS) -> int:
        self.classes.append(ranges)
        self.looks.append(look)
        self.after.append(list(after))
        return len(self.after) - 1

    def _build(self, postfix: Postfix) -> tuple[int, list[int]]:
        """Parts are (first node, nodes that want a successor more); one that is joined to more takes the list over."""
        parts: list[tuple[int, list[int]]] = []
        for node in postfix:
            if isinstance(node, tuple):
                made = self._node(node)
                parts.append((made, [made]))
            elif isinstance(node, Look):
                made = self._node(None, look=node)
                parts.append((made, [made]))
            elif node in (Joint.JOIN, Joint.OR):
                second = parts.pop()
                parts.append(self._two(node, parts.pop(), second))
            else:
                parts.append(self._repeated(node, *parts.pop()))
        return parts[0]

    def _two(self, joint: Joint, first: tuple[int, list[int]], second: tuple[int, list[int]]) -> tuple[int, list[int]]:
        if joint is Joint.OR:
            longer, shorter = (first[1], second[1]) if len(first[1]) >= len(second[1]) else (second[1], first[1])
            longer += shorter
            return self._node(None, first[0], second[0]), longer
        for node in first[1]:
            self.after[node].append(second[0])
        return first[0], second[1]

    def _repeated(self, joint: Joint, first: int, open_ends: list[int]) -> tuple[int, list[int]]:
        fork = self._node(None, first)
        if joint is Joint.QUEST:
            open_ends.append(fork)
            return fork, open_ends
        for node in open_ends:
            self.after[node].append(fork)
        return (fork if joint is Joint.STAR else first), [fork]


class _State:
    """Places, before what follows is looked at. `kind`: of the character read last."""

    __slots__ = ("ends", "kind", "next", "places", "reached")

    def __init__(self, places: frozenset[int], kind: int) -> None:
        self.places, self.kind = places, kind
        self.next: dict[str, _State] = {}
        self.reached: dict[int, list[int]] = {}  # kind of what follows -> the nodes that read a character or are the end
        self.ends: bool | None = None


class Matcher:
    """One expression, ready to be asked. Asking changes what is remembered, never an answer."""

    __slots__ = ("_automaton", "_remembered", "_rest", "_start", "_states", "_steps")

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._steps = 0
        self._rest = LOOKS_AT_A_TIME
        self._forget()

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._remembered = 0
        self._start = self._state(frozenset((self._automaton.start,)), _EDGE)

    def matches(self, text: str) -> bool:
        """Is the whole text one that the expression describes?"""
        return bool(self.matching((text,), sys.maxsize))

    def matching(self, texts: Iterable[str], most_steps: int = MOST_STEPS) -> list[str]:
        """Those of the texts that match, in their order. Raises RegexRefused when it takes more than so many looks at nodes (0.2 us each).

        It depends on what was asked before, as that is remembered, and on nothing else.
        """
        found: list[str] = []
        for _ in self.find(texts, found, most_steps):
            pass
        return found

    def find(self, texts: Iterable[str], found: list[str], most_steps: int) -> Iterator[None]:
        """Put those that match into `found`, as `matching` returns them, a little with each `next`."""
        most = self._steps + most_steps
        for text in texts:
            if (yield from self._look(text, most)):
                found.append(text)

    def _look(self, text: str, most: int) -> Generator[None, None, bool]:
        """Does it match?"""
        state = self._start
        self._steps += len(text) // CHARACTERS_PER_STEP
        for char in text:
            following = state.next.get(char)
            if following is None:
                following = self._follow(state, char)
            if self._steps > most:
                raise RegexRefused(TOO_MUCH_WORK)
            if self._steps > self._rest:
                self._rest = self._steps + LOOKS_AT_A_TIME
                yield
            if not following.places:
                return False
            state = following
        if state.ends is None:
            state.ends = self._automaton.end in self._reached(state, _EDGE)
        return state.ends

    def _follow(self, state: _State, char: str) -> _State:
        """Return the state behind `state` after this character, and remember it."""
        kind, code, automaton = self._kind(char), ord(char), self._automaton
        reached = self._reached(state, kind)
        places = frozenset(
            automaton.after[node][0] for node in reached if (ranges := automaton.classes[node]) is not None and holds(ranges, code)
        )
        self._steps += len(reached)
        if self._remembered > MOST_REMEMBERED:
            self._forget()
        following = self._state(places, kind if automaton.looks_around else _OTHER)
        state.next[char] = following
        self._remembered += 1
        return following

    def _state(self, places: frozenset[int], kind: int) -> _State:
        found = self._states.get((places, kind))
        if found is None:
            found = self._states[places, kind] = _State(places, kind)
            self._remembered += 1 + len(places)
        return found

    def _reached(self, state: _State, kind: int) -> list[int]:
        """The nodes that read a character, and the end, as far as they are reached without reading one."""
        key = kind if self._automaton.looks_around else _OTHER
        found = state.reached.get(key)
        if found is None:
            found = state.reached[key] = self._walked(state.places, _true_between(state.kind, key))
            self._remembered += len(found)
        return found

    def _walked(self, places: frozenset[int], true: Look) -> list[int]:
        automaton, seen, found, waiting = self._automaton, set(places), [], list(places)
        end = automaton.end
        while waiting:
            node = waiting.pop()
            if automaton.classes[node] is not None or node == end:
                found.append(node)
            elif automaton.looks[node] & true == automaton.looks[node]:
                more = [each for each in automaton.after[node] if each not in seen]
                seen.update(more)
                waiting += more
        self._steps += len(seen)
        return found

    def _kind(self, char: str) -> int:
        if not self._automaton.looks_around:
            return _OTHER
        if char == "\n":
            return _NEWLINE
        return _WORD if char == "_" or (char.isascii() and char.isalnum()) else _OTHER


def _true_between(before: int, after: int) -> Look:
    true = Look.NO_BOUNDARY if (before == _WORD) == (after == _WORD) else Look.BOUNDARY
    if before == _EDGE:
        true |= Look.BEGIN_TEXT
    if before in (_EDGE, _NEWLINE):
        true |= Look.BEGIN_LINE
    if after == _EDGE:
        true |= Look.END_TEXT
    return true | Look.END_LINE if after in (_EDGE, _NEWLINE) else true


def compiled(pattern: str) -> Matcher:
    """The expression, ready to be asked. Raises RegexRefused: RE2/J takes it for none, or it is too large."""
    return Matcher(Automaton(parsed(pattern)))
