"""Rules for the names in certificates (`ssl.principal.mapping.rules`) give the principals that Kafka's SslPrincipalMapper gives."""

from __future__ import annotations

from pathlib import Path
from random import Random

from groupmock.security.principals import BadRules, NoPrincipal, mapped, rules_of

from .oracle import run

PATTERNS = (
    "^CN=(.*?),.*$", "^CN=(.*?),O=(.*?),.*$", ".*", "(.*)", ".+", "CN=carla", "(CN)=(x)?.*", "[^,]*,(.*)", "(", "a*",
    "^(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.).*$",
)  # fmt: skip
REPLACEMENTS = ("$1", "$2@$1", "x", "", "$10", "$11", "$12", "$0", "$01", "$", "\\$1", "$1$3", "a\\/b", "$1\\\\", "${n}")
NAMES = ("CN=carla,O=Made Up,C=XX", "CN=carla", "", "CN=Ä,O=x,C=Y", "O=only")
CASES = 1500


def drawn(random: Random) -> str:
    def rule() -> str:
        kind = random.random()
        if kind < 0.15:
            return random.choice(("DEFAULT", " DEFAULT ", "", " ", "NONE", "RULE:", "DEFAULTS"))
        case = random.choice(("", "", "L", "U", "X", "LU"))
        return f"RULE:{random.choice(PATTERNS)}/{random.choice(REPLACEMENTS)}/{case}"

    return random.choice((",", ", ", " , ")).join(rule() for _ in range(random.randint(1, 3)))


def ours(rules: str, name: str) -> str:
    try:
        parsed = rules_of(rules)
    except BadRules:
        return "!"
    try:
        return f"={mapped(name, parsed)}"
    except NoPrincipal:
        return "-"


def test_principals_are_kafkas(release: str) -> None:
    random = Random(7)
    questions = [(drawn(random), random.choice(NAMES)) for _ in range(CASES)]
    text = "".join(f"{rules}\t{name}\n" for rules, name in questions)
    answers = run(release, Path(__file__).with_name("KafkaPrincipals.java"), text).splitlines()
    assert len(answers) == len(questions)
    wrong = [(*question, answer, mine) for question, answer in zip(questions, answers, strict=True) if (mine := ours(*question)) != answer]
    assert not wrong, f"{len(wrong)} of {CASES}: {wrong[:5]}"
