"""Write the page of the audit's rules from their own texts."""

from __future__ import annotations

from collections.abc import Iterator

from groupmock.audit.report import RuleFacts, facts_of
from groupmock.audit.rule import registered

from .markdown import cell, notice, table

ABOUT = """
What `groupmock audit` asks of a client ([how to](../how-to/audit.md)). A rule reads the wire alone: connections, requests and answers.
Broken rules of severity *error* fail a run; a *warning* is told. `groupmock explain RULE` shows the same, with a client that keeps the rule
and one that does not.
""".strip()


def text() -> str:
    rules = [facts_of(each) for each in registered().values()]
    rows = ([f"[{each.code}](#{each.code.lower()})", cell(each.title), each.severity, ", ".join(each.observes)] for each in rules)
    lines = [notice("audit_rules"), "# Rules of the audit", "", ABOUT, ""]
    lines += table(["rule", "what it asks", "severity", "it looks at"], rows)
    for each in rules:
        lines += ["", *_rule(each)]
    return "\n".join(lines) + "\n"


def _rule(rule: RuleFacts) -> Iterator[str]:
    yield f"## {rule.code}"
    yield ""
    yield f"**{rule.title}.** {rule.what}"
    yield ""
    yield f"- Why: {rule.why}"
    yield f"- How to mend it: {rule.fix}"
    yield f"- Source: {', '.join(_source(each) for each in rule.source)}"
    if rule.implies:
        yield f"- The same mistake may break {', '.join(f'[{code}](#{code.lower()})' for code in rule.implies)} too."


def _source(source: str) -> str:
    page, _, _ = source.partition("#")
    return f"[{source}](../kafka/{source})" if page.endswith(".md") else f"`{source}`" if "." in source else source
