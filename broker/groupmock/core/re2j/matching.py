"""Matches whole texts with a regular expression, in time that is linear in the length of the text.

The expression becomes an automaton with a node for each character class (Thompson 1968; R. Cox,
https://swtch.com/~rsc/regexp/regexp1.html). A state is the set of all nodes to which some way of reading the text so far leads. The
successor of a state for a character is cached, so that frequent expressions soon cost one look-up for each character. For others a
character costs at most a look at each node, of which there are at most `syntax.MOST_NODES`.

Conditions (^, $, word boundaries) depend on the characters around a node, so their kinds are part of the state. The whole text is matched,
as in `Matcher.matches` of RE2/J, which Kafka calls (TopicRegexResolver, TransactionStateManager).
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from typing import Final

from .classes import Ranges, holds
from .syntax import Joint, Look, Postfix, RegexRefused, parsed

TOO_MUCH_WORK: Final = "too many places at once for the names that there are"
MOST_STEPS: Final = 250_000
"""The largest number of steps of one match, which takes about fifty milliseconds."""
LOOKS_AT_A_TIME: Final = 300
"""The number of node visits after which the matcher yields to its caller."""
CHARACTERS_PER_STEP: Final = 4
"""With cached states, this number of characters counts as one step."""
MOST_REMEMBERED: Final = 100_000
"""The largest number of nodes in all cached states. Above it the cache is dropped and made anew."""
_EDGE, _WORD, _NEWLINE, _OTHER = range(4)
"""The kinds of characters, as far as conditions such as word boundaries need them. The edge is the beginning or the end of the text."""


class Automaton:
    """A nondeterministic automaton with numbered nodes. A node with a class reads one such character and goes to `after[node][0]`. A
    node without a class goes to all of `after[node]` at once, if its `look` is true. The last node is the end."""

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
        """Return the final node, which is reached when the text matches."""
        return len(self.after) - 1

    def _node(self, ranges: Ranges | None, *after: int, look: Look = Look.ALWAYS) -> int:
        self.classes.append(ranges)
        self.looks.append(look)
        self.after.append(list(after))
        return len(self.after) - 1

    def _build(self, postfix: Postfix) -> tuple[int, list[int]]:
        """Build the nodes of the postfix expression, and return the first node and the nodes that still need a successor."""
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
    """The set of nodes in which the automaton may be before it reads the next character. `kind` is that of the last character."""

    __slots__ = ("ends", "kind", "next", "places", "reached")

    def __init__(self, places: frozenset[int], kind: int) -> None:
        self.places, self.kind = places, kind
        self.next: dict[str, _State] = {}
        # For a state of the matcher, maps the kind of the next character to the nodes reached by it that read a character or are final.
        self.reached: dict[int, list[int]] = {}
        self.ends: bool | None = None


class Matcher:
    """A compiled expression that can be matched many times. Matching changes the cache, never a result."""

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
        """True if the expression matches the whole text."""
        return bool(self.matching((text,), sys.maxsize))

    def matching(self, texts: Iterable[str], most_steps: int = MOST_STEPS) -> list[str]:
        """Return the texts that match, in their order. Raises RegexRefused if it takes more than so many looks at nodes (0.2 us each),
        which depends only on what was matched, and so cached, before."""
        found: list[str] = []
        for _ in self.find(texts, found, most_steps):
            pass
        return found

    def find(self, texts: Iterable[str], found: list[str], most_steps: int) -> Iterator[None]:
        """Append the texts that match to `found`, with a little work for each `next`."""
        most = self._steps + most_steps
        for text in texts:
            if (yield from self._look(text, most)):
                found.append(text)

    def _look(self, text: str, most: int) -> Generator[None, None, bool]:
        """True if the text matches. The generator yields now and then to its caller."""
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
        """Return the state that follows `state` after the character, and cache it."""
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
        """Return the nodes that read a character, and the final node, if they can be reached from the state without reading a character."""
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
    """Compile an expression into a matcher. Raises RegexRefused if RE2/J refuses it, or if it is too large."""
    return Matcher(Automaton(parsed(pattern)))
