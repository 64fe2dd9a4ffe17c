"""Every entry point that accepts settings handles unknown names and hostile values."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from properties.setting_values import ANSWERS, DOORS, KINDS, SETTING_VALUES
from searching import examples

from groupmock.config.declared import all_settings
from groupmock.config.options import OPTIONS
from groupmock.core.groups.configs import KEYS
from groupmock.core.log.broker_configs import broker_keys
from groupmock.core.log.change import DELETE, SET
from groupmock.core.log.config_keys import BITS, DOUBLE, TOPIC_CONFIGS, ConfigKey
from groupmock.core.settings import Quirks
from groupmock.rig import WireRig
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest

BROKERS = sorted(name for name, key in broker_keys(Quirks()).items() if not key.fixed)
NAMES = {"topic": sorted(TOPIC_CONFIGS), "node": BROKERS, "nodes": BROKERS, "group": sorted(KEYS)}
KEY_OF: dict[str, ConfigKey] = {**TOPIC_CONFIGS, **{name: key.key for name, key in broker_keys(Quirks()).items()}, **KEYS}
NUMERIC_NAMES = {kind: [name for name in names if KEY_OF[name].kind in (*BITS, DOUBLE)] for kind, names in NAMES.items()}
STARTED = sorted(all_settings())
READ = sorted({option.name for option in OPTIONS})
NUMBERS = [
    "", "1e400", "nan", "NaN", "-NaN", "inf", "-Infinity", "0x1p10", "1_0", "٣", "𝟗", "²", "1d", "5.", "-0", "+5", "++5", "-1", "0", "1",
    "2147483648", "9223372036854775807", "9223372036854775808", "9" * 400, "9" * 5000, "0" * 5000 + "1", "0." + "3" * 5000, "\x007\x1f",
]  # fmt: skip
ODD = [
    *NUMBERS, "\xa07", "true", "TRUE ", "a,b,,c", ",", "*", "1:1", "by_duration:PT99999999999999999999S", "127.0.0.1:" + "9" * 5000, "\n",
    "\x1b[2J", "[" * 100, "{}", '"x"', "1:1," * 8000 + "1:1", "水" * 10_000,
]  # fmt: skip
NUMERIC = st.from_regex(r"[-+]?[0-9٣_]{0,30}(\.[0-9]{0,30})?([eEpP][-+]?[0-9]{1,10})?[dDfFlL]?", fullmatch=True)
VALUES = st.sampled_from(ODD) | NUMERIC | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    door = draw(st.sampled_from(DOORS))
    kinds = {"CreateTopics": ["topic"], "command": ["topic", "node", "nodes"]}.get(door, sorted(KINDS))
    kind = draw(st.sampled_from(kinds))
    names = READ if door == "option" else STARTED if door in ("flag", "environment", "file") else NAMES[kind]
    operation = draw(st.sampled_from([0, 0, 1, 2, 3]))
    return {"door": door, "kind": kind, "name": draw(st.sampled_from(names)), "value": draw(VALUES), "operation": operation}


@pytest.mark.property
@examples(150)
@given(cases())
def test_setting_values_are_accepted_or_refused_in_words_at_every_door(case: dict[str, Any]) -> None:
    SETTING_VALUES.check(case)


@for_each("kind", sorted(KINDS))
def test_every_numeric_setting_reads_each_hostile_number_without_a_defect(kind: str) -> None:
    """One cluster receives all hostile numbers, so that an accepted value is checked together with later ones."""
    rig = WireRig.make(topics={"t": 1})
    wire, (resource_type, resource) = rig.connect(), KINDS[kind]
    for name in NUMERIC_NAMES[kind]:
        changes = [AlterableConfig(name=name, config_operation=SET, value=value) for value in NUMBERS]
        for change in [*changes, AlterableConfig(name=name, config_operation=DELETE, value=None)]:
            wanted = AlterConfigsResource(resource_type=resource_type, resource_name=resource, configs=[change])
            (row,) = wire.ask(44, 1, IncrementalAlterConfigsRequest(resources=[wanted])).responses
            assert row.error_code in ANSWERS, f"{name} = {change.value}: {row.error_code}"
    assert not rig.driver.counters.internal_errors
