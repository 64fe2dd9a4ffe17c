"""Principals of certificates, as Java prints names, and the rules that change them (SEC-65; KIP-371)."""

from __future__ import annotations

import pytest
from cases import for_each
from cryptography import x509
from cryptography.x509.oid import NameOID

from groupmock.security.principals import BadRules, NoPrincipal, mapped, name_in_words, rules_of

CARLA = "CN=carla,O=Made Up,C=XX"


def test_name_is_printed_as_java_prints_it() -> None:
    attributes = [
        (NameOID.COUNTRY_NAME, "XX"), (NameOID.ORGANIZATION_NAME, 'Made, "Up"'), (NameOID.EMAIL_ADDRESS, "c@x.org"),
        (NameOID.COMMON_NAME, " carla "),
    ]  # fmt: skip
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])
    assert name_in_words(name) == "CN=\\ carla\\ ,1.2.840.113549.1.9.1=#160763" + b"@x.org".hex() + ',O=Made\\, \\"Up\\",C=XX'


@for_each(
    "rules, principal",
    [
        ("DEFAULT", CARLA),
        ("RULE:^CN=(.*?),.*$/$1/", "carla"),
        ("RULE:^CN=(.*?),.*$/$1/U", "CARLA"),
        ("RULE:^CN=(.*?),O=(.*?),.*$/$1@$2/L", "carla@made up"),
        ("RULE:^CN=bert,.*$/b/, RULE:.+/other/, DEFAULT", "other"),
        ("RULE:.*/other/", "otherother"),  # Java's replaceAll also replaces the nothing behind the name.
        (", RULE:^CN=(.*?),.*$/$1$2-$10-$01\\$1/ ,", "carla$2-carla0-carla$1"),
        ("RULE:^(CN)=(x)?.*$/[$2]/", "[]"),
        ("RULE:CN=carla/x/, DEFAULT", CARLA),
    ],
)
def test_first_rule_that_matches_the_whole_name_counts(rules: str, principal: str) -> None:
    assert mapped(CARLA, rules_of(rules)) == principal


def test_name_that_no_rule_matches_has_no_principal() -> None:
    for rules in ("RULE:CN=bert/b/", "", ",", "RULE:.+/$1/", "RULE:.+/$/"):
        with pytest.raises(NoPrincipal):
            mapped(CARLA, rules_of(rules))


@for_each("rules", ["RULE:(/x/", "RULE:abc", "NONE", "DEFAULT DEFAULT"])
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(BadRules):
        rules_of(rules)
