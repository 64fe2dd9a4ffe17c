"""The probe finds out during which dialogues a server died, from those that ended before and after it was last alive."""

from __future__ import annotations

from groupmock_clients.probe.stages.liveness import Death, Liveness
from groupmock_clients.probe.verdicts.report_model import DeathFact, told


class Server:
    """A server that is alive until the test ends it."""

    def __init__(self) -> None:
        self.lives = True
        self.watch = Liveness(self.alive)

    def alive(self) -> bool:
        return self.lives


def test_while_it_answers_nobody_is_suspected() -> None:
    server = Server()
    server.watch.ended("a", True)
    server.watch.ended("b", True)
    assert not server.watch.gone()
    assert server.watch.death() == Death([], "b")


def test_who_spoke_to_it_since_it_was_seen_is_suspected() -> None:
    server = Server()
    server.watch.ended("a", True)
    server.lives = False
    for dialogue in ("b", "c"):
        server.watch.ended(dialogue, True)
    assert server.watch.gone()
    assert server.watch.death() == Death(["b", "c"], "a")


def test_who_never_reached_it_is_not() -> None:
    server = Server()
    server.lives = False
    server.watch.ended("a", False)
    assert server.watch.gone() and server.watch.death() == Death([], "")


def test_one_that_came_back_meanwhile_was_gone_all_the_same() -> None:
    server = Server()
    server.lives = False
    server.watch.ended("a", True)
    server.lives = True
    server.watch.ended("b", True)
    assert server.watch.gone() and server.watch.death().dialogues == ["a", "b"]


def test_a_new_server_has_no_past() -> None:
    server = Server()
    server.lives = False
    server.watch.ended("a", True)
    server.lives = True
    server.watch.begin_anew()
    assert not server.watch.gone() and server.watch.death() == Death([], "")
    server.watch.ended("b", True)
    assert not server.watch.gone()


def test_a_death_is_told_as_far_as_it_is_known() -> None:
    assert told(DeathFact(("x",), "x", "", True, "HOW")) == "the server died of x; HOW"
    assert told(DeathFact(("x",), "x", "w", True, "HOW")) == "the server died of x, perhaps late, of w; HOW"
    assert told(DeathFact(("x", "y"), "y", "", True, "HOW")) == "the server died of y, which killed it again when played alone; HOW"
    assert told(DeathFact(("x", "y"), "", "w", True, "HOW")) == (
        "the server died while 2 dialogues were under way (x, y); none of them did it again when played alone; HOW"
    )
    assert told(DeathFact(tuple("abcdefg"), "", "", False, "HOW")) == (
        "the server died while 7 dialogues were under way (a, b, c, d, e ...); HOW"
    )
    assert told(DeathFact((), "", "", False, "HOW")) == "the server died between two dialogues; HOW"
