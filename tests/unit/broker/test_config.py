"""Configuration comes from several layers and knows the origin of each value; bad input gets one clear line."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from cases import for_each

from groupmock import Broker
from groupmock.cli import main
from groupmock.config import profiles
from groupmock.config.declared import all_settings
from groupmock.config.resolve import Address, ConfigError, TopicSpec, resolve
from groupmock.core.settings import Quirks, Settings
from groupmock_codec import APIS, extras
from groupmock_codec.extras import pip_install

DELAY = "group.initial.rebalance.delay.ms"


def test_defaults_are_those_that_the_settings_declare() -> None:
    config = resolve()
    assert config.settings == Settings(compression_open=True), "cramjam is installed for the tests"
    assert (config.host, config.port, config.nodes, config.profile.name) == ("127.0.0.1", 9092, 1, "groupmock")


def test_records_are_opened_where_the_library_is_there_and_else_somebody_must_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not resolve({}, ["groupmock.compression.open=false"]).settings.compression_open
    monkeypatch.setattr(extras, "LIBRARY", "no_such_library")
    assert not resolve().settings.compression_open
    with pytest.raises(ConfigError, match=f"flag --set groupmock.compression.open: .*{re.escape(pip_install('compression'))}"):
        resolve({}, ["groupmock.compression.open=true"])


def test_each_layer_beats_the_one_below(tmp_path: Path) -> None:
    file = tmp_path / "groupmock.toml"
    file.write_text('profile = "kafka-4.3"\nport = 1111\n[set]\n"group.initial.rebalance.delay.ms" = 7\ngroup.max.size = 8\n')
    variables = {"GROUPMOCK_SET_GROUP_MAX_SIZE": "9", "GROUPMOCK_PORT": "2222"}
    config = resolve({"port": 3333}, [f"{DELAY}=10"], str(file), variables)
    assert (config.settings.group_initial_rebalance_delay_ms, config.origins[DELAY]) == (10, f"flag --set {DELAY}")
    assert (config.settings.group_max_size, config.origins["group.max.size"]) == (9, "environment GROUPMOCK_SET_GROUP_MAX_SIZE")
    assert config.settings.group_min_session_timeout_ms == 6000
    assert config.origins["group.min.session.timeout.ms"] == "profile kafka-4.3"
    assert (config.port, config.origins["port"], config.origins["profile"]) == (3333, "flag --port", f"file {file}")


def test_file_alone_gives_topics_and_nodes(tmp_path: Path) -> None:
    file = tmp_path / "groupmock.toml"
    file.write_text('nodes = 3\ntopic = ["orders:12", "audit"]\n')
    config = resolve(file=str(file))
    assert (config.nodes, config.topics) == (3, (TopicSpec("orders", 12), TopicSpec("audit", 0)))


@for_each(
    ("text", "address"),
    [
        ("kafka.test", Address("kafka.test", None)),
        ("kafka.test:19092", Address("kafka.test", 19092)),
        ("[::1]:19092", Address("::1", 19092)),
        ("::1", Address("::1", None)),
        ("10.0.0.7", Address("10.0.0.7", None)),
    ],
)
def test_advertised_address(text: str, address: Address) -> None:
    assert resolve({"host": "0.0.0.0", "advertise": text}).advertise == address


def test_a_short_session_timeout_needs_no_other_setting() -> None:
    """Kafka refuses it, and quick tests need it (docs/kafka/differences.md)."""
    kinds = ("consumer", "share", "streams")
    settings = resolve({}, [f"group.{kind}.session.timeout.ms=2000" for kind in kinds]).settings
    assert {getattr(settings, f"group_{kind}_session_timeout_ms") for kind in kinds} == {2000}


BAD = {
    "unknown setting": ({}, ["group.max.siz=3"], "did you mean group.max.size"),
    "no value": ({}, ["group.max.size"], "--set takes KEY=VALUE"),
    "not a number": ({}, ["group.max.size=many"], "group.max.size takes a whole number, not 'many'"),
    "a boolean for a number": ({}, [("group.max.size", True)], "takes a whole number"),
    "not a choice": ({}, ["log.message.timestamp.type=x"], "takes CreateTime or LogAppendTime, not 'x'"),
    "not a boolean": ({}, ["auto.create.topics.enable=1"], "takes true or false"),
    "out of range": ({}, ["group.max.size=0"], "takes 1 to 2147483647, not 0"),
    "sessions crossed": (
        {},
        ["group.min.session.timeout.ms=9", "group.max.session.timeout.ms=8"],
        "group.max.session.timeout.ms (8) must be greater than or equal to group.min.session.timeout.ms (9)",
    ),
    "fewer share sessions than members": (
        {},
        ["group.share.max.share.sessions=100"],
        "sessions: group.share.max.share.sessions (100) must be greater than or equal to group.share.max.size (200)",
    ),
    "more members of a share group than sessions": (
        {},
        ["group.share.max.size=2001"],
        "size: group.share.max.share.sessions (2000) must be greater than or equal to group.share.max.size (2001)",
    ),
    "session timeouts of consumer groups crossed": (
        {},
        ["group.consumer.max.session.timeout.ms=44000"],
        "(44000) must be greater than or equal to group.consumer.min.session.timeout.ms (45000)",
    ),
    "heartbeat intervals of consumer groups crossed": (
        {},
        ["group.consumer.max.heartbeat.interval.ms=4000"],
        "(4000) must be greater than or equal to group.consumer.min.heartbeat.interval.ms (5000)",
    ),
    **{
        f"heartbeats of {kind} groups as rare as the timeout": (
            {},
            [f"group.{kind}.heartbeat.interval.ms=45000"],
            f"group.{kind}.heartbeat.interval.ms (45000) must be less than group.{kind}.session.timeout.ms (45000)",
        )
        for kind in ("consumer", "share", "streams")
    },
    "principal without a type": ({}, ["super.users=User:a; b"], "super.users has 'b': a principal has a type, as in User:admin"),
    "unknown profile": ({"profile": "kafka-1.0"}, [], "no profile 'kafka-1.0': there are groupmock, kafka-3.9"),
    "unroutable": ({"host": "0.0.0.0"}, [], "add --advertise HOST[:PORT]"),
    "unroutable advertised": ({"advertise": "0.0.0.0:9092"}, [], "no address that a client can connect to"),
    "advertised port": ({"advertise": "h:0"}, [], "flag --advertise"),
    "port": ({"port": "70000"}, [], "flag --port: '70000' is not a whole number from 0 to"),
    "no room for the ports of all nodes": ({"port": 65535, "nodes": 3}, [], "flag --port"),
    "nodes": ({"nodes": 0}, [], "flag --nodes"),
    "log": ({"log": "loud"}, [], "'loud' is not one of text, json, rows, json-rows, off"),
    "seed": ({"seed": "x"}, [], "flag --seed"),
    "run": ({"run": "a\nb"}, [], "flag --run: 'a\\nb' is no name of 1 to 200 printable characters"),
    "long run": ({"run": "x" * 201}, [], "is no name of 1 to 200 printable characters"),
    "topic name": ({"topic": ("a b",)}, [], "no topic name"),
    "topic dot": ({"topic": (".",)}, [], "no topic name"),
    "topic colon": ({"topic": ("orders:",)}, [], "ends in a colon"),
    "topic partitions": ({"topic": ("orders:0",)}, [], "is not a whole number from 1"),
    "topic twice": ({"topic": ("orders:1", "orders")}, [], "topic orders is given twice"),
}


@for_each("case", BAD)
def test_bad_value_names_the_place_and_the_remedy(case: str) -> None:
    flags, sets, text = BAD[case]
    with pytest.raises(ConfigError) as caught:
        resolve(flags, sets)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@for_each(
    ("content", "text"),
    [
        (b"port = ", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a = " + b"[" * 60_000, "is nested more than 16 deep"),
        (b"port = " + b"9" * 5000, "is not to be read: a word of more than 200 characters"),
        (b"prot = 1", "no option 'prot'"),
        (b"set = 1", "[set] must be a table"),
        (b"[set]\nnope = 1", "no setting 'nope'"),
        (b'[set]\n"group.max.size" = "x"', "file"),
    ],
)
def test_bad_file_is_named(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "groupmock.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        resolve(file=str(file))
    assert text in str(caught.value)
    assert str(file) in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the configuration file"):
        resolve(file=str(tmp_path / "none.toml"))


def test_unknown_variable_is_named() -> None:
    with pytest.raises(ConfigError, match=r"environment GROUPMOCK_SET_GROUP_MAX_SIZES.*did you mean group\.max\.size"):
        resolve(environment={"GROUPMOCK_SET_GROUP_MAX_SIZES": "3"})


def test_environment_names_are_unambiguous() -> None:
    variables = [name.replace(".", "_").upper() for name in all_settings()]
    assert len(variables) == len(set(variables))


@for_each("name", profiles.names())
def test_profile_is_made_of_what_there_is(name: str) -> None:
    profile = profiles.load(name)
    assert profile.quirks <= set(Quirks.__struct_fields__)
    assert set(profile.settings) <= set(all_settings())
    for key, (lowest, highest) in profile.versions.items():
        assert lowest in APIS[key].versions, APIS[key].name
        assert highest in APIS[key].versions, APIS[key].name


def test_the_own_profile_is_the_widest_of_the_releases() -> None:
    own = profiles.load("groupmock").versions
    releases = [profiles.load(name).versions for name in profiles.names() if name != "groupmock"]
    for key in {key for release in releases for key in release}:
        ranges = [release[key] for release in releases if key in release]
        assert own[key] == (min(low for low, _ in ranges), max(high for _, high in ranges))


def test_quirks_reach_the_core() -> None:
    config = resolve({"profile": "kafka-3.9"})
    assert {name for name in Quirks.__struct_fields__ if getattr(config.settings.quirks, name)} == set(config.profile.quirks)


def test_profiles_have_the_quirks_that_their_comments_give_them() -> None:
    """A comment next to each quirk names its releases, which must match the profiles."""
    source = re.sub(r"^( +#.*)\n(.*)$", r"\2 \1", inspect.getsource(Quirks), flags=re.MULTILINE)
    said = dict(re.findall(r"^ +(\w+): bool = False +# ([\d. ]+):", source, re.MULTILINE))
    assert set(said) == set(Quirks.__struct_fields__)
    for release in ("4.4", "4.3", "3.9"):
        assert profiles.load(f"kafka-{release}").quirks == {name for name, releases in said.items() if release in releases.split()}
    assert not profiles.load("groupmock").quirks


def test_a_setting_of_kafka_that_is_not_served_is_ignored_by_name() -> None:
    config = resolve({}, ["group.coordinator.threads=2", "num.partitions=3"])
    assert (config.ignored, config.settings.num_partitions) == (("group.coordinator.threads",), 3)
    environment = {"GROUPMOCK_SET_ZOOKEEPER_CONNECT": "x:1"}
    assert resolve({}, environment=environment).ignored == ("zookeeper.connect",), "a setting of 3.9"


def test_the_command_line_says_which_settings_it_ignores(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--set", "group.coordinator.threads=2"]) == 0
    said = capsys.readouterr().err
    assert said == "groupmock: accepted but not used, groupmock behaves as with their defaults: group.coordinator.threads\n"


def test_a_broker_in_the_process_warns_of_settings_that_it_ignores() -> None:
    with pytest.warns(UserWarning, match=r"accepted but not used, .*: group\.coordinator\.threads"):
        Broker(settings={"group.coordinator.threads": 2})
