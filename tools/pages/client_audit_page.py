"""Write the page about the conduct of stock clients, which `tests/interop/audit` recorded rule by rule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groupmock.audit.rule import registered
from groupmock.text.printable import one_line
from tools.records import RECORDS
from tools.runs import ROOT

from .markdown import cell, notice, table

NOTICE = notice("client_audit", "client-audit.json")
FINDINGS = ROOT / "docs" / "how-to" / "client-findings"
PROGRAMS = "https://github.com/groupmock/groupmock/blob/main/docs/how-to/client-findings/"
Entry = dict[str, Any]


def text() -> str:
    return page(json.loads((RECORDS / "client-audit.json").read_text()), scripts())


def scripts(folder: Path = FINDINGS) -> dict[tuple[str, str], str]:
    """Map (client as the script names it, rule) to the file of a minimal program that breaks the rule."""
    found = {}
    for file in sorted(folder.glob("*.*")):
        told = dict(re.findall(r"^(?:#|//) (\w+): (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE))
        if "breaks" not in told:
            continue
        found[told["client"], told["breaks"]] = file.name
    return found


def page(data: dict[str, Entry], known: dict[tuple[str, str], str]) -> str:
    """Return the text of the page. `data` maps a client to the data of `judges.audited.entry`."""
    lines = [NOTICE, "# Clients, audited", "", *_introduction(data), "", "## Rule by rule", "", *_matrix(data), ""]
    lines += ["## What is broken", ""]
    for client, entry in data.items():
        lines += [*_broken(client, entry, known), ""]
    lines += ["## What was not reached", "", *_not_reached(data), ""]
    return "\n".join(lines[:-1]) + "\n"


def _introduction(data: dict[str, Entry]) -> Iterator[str]:
    most = max((entry["situations"] for entry in data.values()), default=0)
    yield "Stock clients, each with three copies of a program as their users write it (`tests/interop/members/`), are put through the"
    yield "situations of [`groupmock audit --drive`](../how-to/audit.md#drive-a-client) and judged by [every"
    yield f"rule](../reference/audit-rules.md): {len(data)} clients, {most} situations, {len(registered())} rules."
    anew = max((entry.get("anew", 0) for entry in data.values()), default=0)
    if anew:
        yield f"The journals of {anew} situations of each client (of fewer with the consumer protocol) were recorded later, on a loaded"
        yield "machine, and judged by all of these rules. The results of other situations are of an earlier run and its 58 rules."
    yield "`tests/interop/audit` records the results again (in `make live` it is the part `audit-table`). The findings link minimal"
    yield "scripts that break a rule, and `make live` runs these scripts."
    yield "`groupmock audit --drive --situations list` says what happens in each situation."


def _matrix(data: dict[str, Entry]) -> Iterator[str]:
    yield "In the table a number counts the situations in which the rule was broken (**error**, *warning*), `+` means that the rule was"
    yield "always kept, and an empty cell means that the rule was not exercised."
    yield ""
    codes = [code for code in registered() if any(_exercised(entry, code) for entry in data.values())]
    rows = ([f"[{code}](../reference/audit-rules.md#{code.lower()})", *(_sign(entry, code) for entry in data.values())] for code in codes)
    yield from table(["rule", *data], rows)
    unused = [code for code in registered() if code not in codes]
    yield ""
    yield f"No client exercised these rules: {', '.join(unused) or 'none'}."


def _exercised(entry: Entry, code: str) -> bool:
    return bool(entry["rules"].get(code, {"verdict": "not exercised"})["verdict"] != "not exercised")


def _sign(entry: Entry, code: str) -> str:
    rule = entry["rules"].get(code)
    if rule is None or rule["verdict"] == "not exercised":
        return ""
    if rule["verdict"] != "broken":
        return "+" if rule["verdict"] == "kept" else rule["verdict"]
    mark = "**" if rule["severity"] == "error" else "*"
    return f"{mark}{len(entry['broken'][code])}{mark}"


def _broken(client: str, entry: Entry, known: dict[tuple[str, str], str]) -> Iterator[str]:
    names = ", ".join(map(one_line, entry["clients"]))
    told = f"The client names itself {names} in ApiVersions." if names else "The client sends no software name in ApiVersions (KIP-511)."
    yield f"### {client}"
    yield ""
    note = f"{entry['note'][0].upper()}{entry['note'][1:]}." if entry["note"] else ""
    yield f"{told} The client reached {entry['reached']} of the {entry['situations']} situations. {note}".rstrip()
    yield ""
    if not entry["broken"]:
        yield "The client broke no rule."
    for code, places in sorted(entry["broken"].items()):
        rule = entry["rules"][code]
        times = sum(place["times"] for place in places)
        rest = len(places) - 4
        more = f" and {rest} more situation{'s' if rest > 1 else ''}" if rest > 0 else ""
        situations = ", ".join(f"`{place['situation']}`" for place in places[:4]) + more
        script = next((file for (of, broken), file in known.items() if broken == code and client.startswith(of)), None)
        shown = f" ([script]({PROGRAMS}{script}))" if script else ""
        often = f"{times} time{'s' if times > 1 else ''}"
        example = cell(one_line(places[0]["sentence"])).replace(". It ", "; the member ")
        yield f"- Rule {code} ({rule['severity']}) was broken {often}, in {situations}. Example: member {example}{shown}"


def _not_reached(data: dict[str, Entry]) -> Iterator[str]:
    rows = [[client, f"`{name}`", cell(one_line(why))] for client, entry in data.items() for name, why in entry["not reached"].items()]
    if rows:
        yield "A situation was not reached if its event did not occur, or if the group was not stable again after the event, within 30 s."
        yield "A situation that was not reached may be correct behaviour of the client, or a finding of its own."
        yield ""
        yield from table(["client", "situation", "why"], rows)
    else:
        yield "All clients reached all situations."
