"""Say what a rule of the audit asks of clients: groupmock explain [RULE ...]

What it asks, why, where that is written, how to mend a client that breaks it, and two clients as they look on the wire: one that keeps it
and one that does not (docs/reference/exchanges.md has the language). Without RULE: every rule, a line each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import BAD_USE, OK
from ._options import complain

if TYPE_CHECKING:
    from ..audit.rule import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", metavar="RULE", nargs="*", help="code of a rule, as CLIENT-05")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from ..audit.rule import registered
    from ..text.suggest import hint

    known = registered()
    for code in arguments.rules:
        if code.upper() not in known:
            complain("explain", ValueError(f"no rule {code!r}{hint(code, known)}: `groupmock explain` lists them"))
            return BAD_USE
    chosen = [known[code.upper()] for code in arguments.rules]
    if arguments.json:
        import msgspec

        from ..audit.report import facts_of

        facts = [facts_of(each) for each in chosen or known.values()]
        print(msgspec.json.format(msgspec.json.encode(facts), indent=1).decode())
    elif chosen:
        print("\n\n".join("\n".join(_lines(each)) for each in chosen))
    else:
        print("\n".join(f"{code:10} {each.severity:8} {each.title}" for code, each in known.items()))
    return OK


def _lines(rule: type[Rule]) -> Iterator[str]:
    from textwrap import indent

    from ..audit.report import facts_of, link_of

    facts = facts_of(rule)
    yield f"{rule.code} ({rule.severity}): {rule.title}"
    yield f"\n{rule.what}\n\nWhy: {rule.why}\n\nHow to mend it: {rule.fix}\n"
    yield f"It looks at: {', '.join(facts.observes)}."
    if rule.implies:
        yield f"The same mistake may break {', '.join(rule.implies)} too."
    yield "Source:"
    for source in rule.source:
        link = link_of(source)
        yield f"  {source}" + (f"  {link}" if link and link != source else "")
    yield f"\nA client that keeps it:\n{indent(rule.kept.strip(), '    ')}"
    yield f"\nA client that breaks it:\n{indent(rule.broken.strip(), '    ')}"
