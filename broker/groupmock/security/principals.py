"""The principal of a client with a TLS certificate: its distinguished name, or what `ssl.principal.mapping.rules` make of it (KIP-371)."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography.x509 import Name

_PART: Final = r"(?:\\.|[^\\/])*"
RULE: Final = re.compile(rf"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>{_PART})/(?P<replacement>{_PART})/(?P<case>[LU]?)|)\s*(?:,|$)")
PART: Final = re.compile(r"\\(.)|\$(\d+)|(.)", re.DOTALL)
"""A part of a replacement: an escaped character, the number of a group, or another character."""
KNOWN: Final = {
    "2.5.4.3": "CN", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.6": "C", "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}  # fmt: skip
"""The attributes that have a keyword in RFC 2253; all others are shown by number, with their value in hex (X500Principal)."""
UTF8: Final = 0x0C
IA5: Final = 0x16
EMAIL: Final = "1.2.840.113549.1.9.1"
SHORT_FORM: Final = 128


class BadRules(ValueError):
    """Raised if `ssl.principal.mapping.rules` cannot be read. The message says which part is wrong."""


class NoPrincipal(ValueError):
    """Raised for a name that no rule matches."""


class Rule(NamedTuple):
    """A rule that replaces a name that its pattern matches as a whole. Without a pattern the name stays as it is."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""


def rules_of(text: str) -> tuple[Rule, ...]:
    """Parse the value of the setting. Raises BadRules."""
    rules, at, text = [], 0, text.strip()
    while at < len(text):
        found = RULE.match(text, at)
        if found is None:
            raise BadRules(f"no rule begins at {text[at : at + 40]!r}: write RULE:PATTERN/REPLACEMENT/ (L or U may follow), or DEFAULT")
        if found["default"]:
            rules.append(Rule(None))
        elif found["pattern"] is not None:
            try:
                rules.append(Rule(re.compile(found["pattern"]), found["replacement"], found["case"]))
            except re.error as wrong:
                raise BadRules(f"{found['pattern']!r} is no regular expression: {wrong}") from None
        at = found.end()
    return tuple(rules)


def mapped(name: str, rules: tuple[Rule, ...]) -> str:
    """Return what the first rule that matches the whole name makes of it. Raises NoPrincipal."""
    for rule in rules:
        if rule.pattern is None:
            return name
        if rule.pattern.fullmatch(name):
            # Java's replaceAll goes on after the whole name, so that .* also matches the nothing behind it.
            made = rule.pattern.sub(partial(_expanded, rule.replacement), name)
            return made.lower() if rule.case == "L" else made.upper() if rule.case == "U" else made
    raise NoPrincipal(f"no rule of ssl.principal.mapping.rules matches {name}")


def _expanded(replacement: str, found: re.Match[str]) -> str:
    """Return the text that replaces a match, as java.util.regex.Matcher.appendReplacement makes it. A $ with the number of a group that is
    not there stays as it is, if the pattern has groups at all. Raises NoPrincipal."""
    groups, text = len(found.groups()), ""
    for escaped, digits, plain in PART.findall(replacement):
        if not digits:
            if plain == "$":
                raise NoPrincipal(f"a $ without a number in the replacement {replacement} of ssl.principal.mapping.rules")
            text += escaped or plain
            continue
        number, used = int(digits[0]), 1
        while used < len(digits) and int(digits[: used + 1]) <= groups:
            number, used = int(digits[: used + 1]), used + 1
        if number > groups and not groups:
            raise NoPrincipal(f"${digits} in the replacement {replacement} of ssl.principal.mapping.rules names no group")
        text += (f"${digits[:used]}" if number > groups else found[number] or "") + digits[used:]
    return text


def distinguished_name(certificate: bytes) -> str:
    """Return the subject of a certificate (DER) as Java prints it: most specific part first, no blanks between the parts (RFC 2253)."""
    from cryptography import x509

    return name_in_words(x509.load_der_x509_certificate(certificate).subject)


def name_in_words(name: Name) -> str:
    parts = []
    for relative in reversed(name.rdns):
        words = []
        for attribute in relative:
            number, value = attribute.oid.dotted_string, attribute.value
            if number in KNOWN and isinstance(value, str):
                words.append(f"{KNOWN[number]}={_escaped(value)}")
            else:
                data = value.encode() if isinstance(value, str) else value
                words.append(f"{number}=#{_der(IA5 if number == EMAIL else UTF8, data).hex()}")
        parts.append("+".join(words))
    return ",".join(parts)


def _escaped(value: str) -> str:
    escaped = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    if escaped.startswith(("#", " ")):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if escaped.endswith(" ") and len(escaped) > 1 else escaped


def _der(tag: int, data: bytes) -> bytes:
    """Encode a string as ASN.1 does."""
    if len(data) < SHORT_FORM:
        return bytes((tag, len(data))) + data
    length = len(data).to_bytes((len(data).bit_length() + 7) // 8, "big")
    return bytes((tag, SHORT_FORM | len(length))) + length + data
