"""Every way to set a value accepts it or refuses it with a message, and an accepted value can be described and used.

Case: `door`: IncrementalAlterConfigs, AlterConfigs, CreateTopics, command, flag, environment, file or option; `kind`: topic, node, nodes or
group where the door has resources; `name`, `value`: a setting's, or an option's; `operation`: of IncrementalAlterConfigs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from found import Case, Property

from groupmock.config.resolve import ENVIRONMENT_SET, Config, ConfigError, resolve, settings_by_name
from groupmock.core.steering.register import CannotSteer
from groupmock.rig import WireRig
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig as OldConfig
from groupmock_codec.messages.k33_alter_configs import AlterConfigsRequest
from groupmock_codec.messages.k33_alter_configs import AlterConfigsResource as OldResource
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from groupmock_codec.records import NewRecord, encode_batch

KINDS: Final = {"topic": (2, "t"), "node": (4, "1"), "nodes": (4, ""), "group": (32, "g")}
"""Resource type and resource name for each kind of setting."""
ANSWERS: Final = (-1, 0, 40, 42, 44)
"""Error codes that may occur: UNKNOWN_SERVER_ERROR, NONE, INVALID_CONFIG, INVALID_REQUEST and POLICY_VIOLATION."""
STARTING: Final = ("flag", "environment", "file", "option")
LONGEST_ERROR: Final = 1000


def _holds(case: Case) -> None:
    if case["door"] in STARTING:
        _starts(case)
    else:
        _alters(case)


def _starts(case: Case) -> None:
    try:
        config = _resolved(case)
    except ConfigError as refused:
        text = str(refused)
        assert text.isprintable() and len(text) <= LONGEST_ERROR, f"an error is one line, not {len(text)} characters: {text[:200]!r}"
        return
    assert settings_by_name(config)


def _resolved(case: Case) -> Config:
    name, value = case["name"], case["value"]
    if case["door"] == "flag":
        return resolve(sets=[f"{name}={value}"])
    if case["door"] == "environment":
        return resolve(environment={ENVIRONMENT_SET + name.replace(".", "_").upper(): value})
    if case["door"] == "option":
        return resolve(flags={name: value})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "groupmock.toml"
        file.write_text(f'[set]\n"{name}" = {value}\n', encoding="utf-8")
        try:
            return resolve(file=str(file))
        except ConfigError as refused:
            raise ConfigError(str(refused).replace(folder, "")) from None


def _alters(case: Case) -> None:
    rig = WireRig.make(topics={"t": 1})
    kind, resource = KINDS[case["kind"]]
    wire = rig.connect()
    codes = _asked(case, kind, resource, wire, rig)
    assert all(code in ANSWERS for code in codes), f"answered {codes}"
    wanted = [DescribeConfigsResource(resource_type=kind, resource_name=resource, configuration_keys=None)]
    wire.ask(32, 4, DescribeConfigsRequest(resources=wanted, include_synonyms=True, include_documentation=True))
    data = PartitionProduceData(index=0, records=encode_batch([NewRecord(value=b"v", timestamp=1)]))
    wire.ask(0, 9, ProduceRequest(acks=1, timeout_ms=100, topic_data=[TopicProduceData(name="t", partition_data=[data])]))
    rig.sleep(1000)
    assert not rig.driver.counters.internal_errors, "a defect"


def _asked(case: Case, kind: int, resource: str, wire: Any, rig: WireRig) -> list[int]:
    name, value = case["name"], case["value"]
    if case["door"] == "command":
        try:
            if case["kind"] == "topic":
                rig.command("configure_topic", name="t", set={name: value})
            else:
                rig.command("configure_node", node=1 if case["kind"] == "node" else 0, set={name: value})
        except CannotSteer as refused:
            assert str(refused)
        return []
    if case["door"] == "CreateTopics":
        topic = CreatableTopic(name="n", num_partitions=1, replication_factor=1, configs=[CreatableTopicConfig(name=name, value=value)])
        return [row.error_code for row in wire.ask(19, 7, CreateTopicsRequest(topics=[topic], timeout_ms=1000)).topics]
    if case["door"] == "AlterConfigs":
        old = [OldResource(resource_type=kind, resource_name=resource, configs=[OldConfig(name=name, value=value)])]
        return [row.error_code for row in wire.ask(33, 2, AlterConfigsRequest(resources=old)).responses]
    change = AlterableConfig(name=name, config_operation=case["operation"], value=value)
    new = [AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[change])]
    codes = []
    for _ in range(2):  # Two requests are sent, because the second one appends to the value of the first.
        codes += [row.error_code for row in wire.ask(44, 1, IncrementalAlterConfigsRequest(resources=new)).responses]
    return codes


SETTING_VALUES = Property("setting-values", _holds)
DOORS: Final = ("IncrementalAlterConfigs", "AlterConfigs", "CreateTopics", "command", *STARTING)
