"""The generators of the log family and the bytes family make the requests that they promise, and the same requests for the same seed."""

from __future__ import annotations

import random

from cases import for_each

from groupmock.rig.wire import framed
from groupmock_clients.probe.language.exchange import Raw, Send
from groupmock_clients.probe.language.syntax import Literal
from groupmock_codec import APIS
from groupmock_codec.headers import request_header_version
from tools.fidelity.compare.bytes_run import kind_of, ours
from tools.fidelity.compare.reaction import frames_of, reaction
from tools.fidelity.families import bytes_family, log_family
from tools.fidelity.families.encoded_parts import joined, parts_of
from tools.fidelity.families.target import header
from tools.fidelity.families.valid_requests import RequestMaker
from tools.fidelity.generated.script import key_of
from tools.fidelity.guided.core_player import play
from tools.fidelity.guided.raw_bytes import CLOSED, OPEN, outcome_of

RELEASES = ("4.3", "3.9")
SEEDS = range(60)
SERVED = {asked: release for release in reversed(RELEASES) for asked in bytes_family.served(release)}
"""(API, version) -> the newest release that serves the version."""


@for_each(("key", "version"), SERVED)
def test_parts_joined_are_what_the_codec_writes(key: int, version: int) -> None:
    flexible = request_header_version(key, version) == 2
    for seed in range(8):
        message = RequestMaker("tok", random.Random(seed)).request(key, version)
        assert joined(parts_of(message, version, flexible)) == APIS[key].request.encode(version, message), f"seed {seed}"


@for_each(("key", "version"), SERVED)
def test_plain_requests_are_answered(key: int, version: int) -> None:
    """Unspoiled requests are answered, so a different reaction to a spoiled request comes from the spoiling. Only a Produce with acks=0
    to an unknown topic closes the connection."""
    message = RequestMaker("tok", random.Random(3)).request(key, version)
    if getattr(message, "acks", 1) == 0 or (key == 0 and version < 3):
        return
    flexible = request_header_version(key, version) == 2
    body = header(key, version, 7) + (b"\0" if flexible else b"") + joined(parts_of(message, version, flexible))
    assert kind_of(ours(SERVED[key, version], [framed(body), bytes_family.probe()])) == "answered", message


def test_the_same_seed_makes_the_same_input() -> None:
    for seed in range(10):
        assert bytes_family.make_case(seed, "4.3", "s-") == bytes_family.make_case(seed, "4.3", "s-")
        assert log_family.generate(seed, "3.9") == log_family.generate(seed, "3.9")


def test_every_class_of_input_comes_up() -> None:
    missing, seeds = set(bytes_family.KINDS), iter(range(1200))
    while missing and (seed := next(seeds, None)) is not None:
        missing.discard(bytes_family.make_case(seed, "4.3").name)
    assert missing == set()


def test_a_script_of_bytes_ends_with_the_probe() -> None:
    last = bytes_family.generate(5, "4.3").steps[-1]
    assert isinstance(last, Raw) and isinstance(last.parts[0], Literal) and isinstance(last.parts[0].value, bytes)
    assert frames_of(last.parts[0].value)[-1][4:8] == b"prob"


@for_each("release", RELEASES)
def test_exchanges_of_the_data_plane_use_every_api(release: str) -> None:
    used = {key_of(step) for seed in range(100) for step in log_family.generate(seed, release).steps if isinstance(step, Send)}
    expected = {0, 1, 2, 3, 19, 20, 21, 22, 23, 32, 33, 37, 44, 60, 75}
    assert used == expected


@for_each("release", RELEASES)
def test_most_requests_of_the_data_plane_come_through(release: str) -> None:
    found = [event.status for seed in SEEDS for event in play(log_family.generate(seed, release)).events]
    assert found.count("answered") > 0.8 * len(found)


def test_words_for_reactions() -> None:
    answer, last = b"\0\0\0\7", b"prob"
    assert kind_of(outcome_of(b"\0\0\0\4" + answer + b"\0\0\0\4" + last, OPEN)) == "answered"
    assert kind_of(outcome_of(b"\0\0\0\4" + last, OPEN)) == "no answer, goes on"
    assert kind_of(outcome_of(b"", OPEN)) == "mute"
    assert kind_of(outcome_of(b"", CLOSED)) == "closed"
    assert kind_of(outcome_of(b"\0\0\0\4" + answer, CLOSED)) == "answered, then closed"


def test_an_answer_nobody_asked_for_shows() -> None:
    seen = reaction(outcome_of(b"\0\0\0\4\0\0\0\x63", OPEN), [bytes_family.probe()], "tok")
    assert seen["answers"] == [{"unexpected": "00000063"}]
