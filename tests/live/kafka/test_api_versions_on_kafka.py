"""ApiVersions of groupmock equals that of real Apache Kafka for each release and version, field by field. A checked-in list has our
omissions.

It needs java and the shared folder.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from groupmock.rig.wire import request
from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from tools.fidelity.compare.bytes_run import ours
from tools.fidelity.families.bytes_family import probe
from tools.fidelity.generated.settings_classes import BROKERS
from tools.fidelity.guided.peer import parse_address
from tools.fidelity.guided.raw_bytes import over_tcp
from tools.oracle import kafka

LEFT_OUT = Path(__file__).resolve().parents[2] / "data" / "api_versions_left_out.toml"


def asked(version: int) -> list[bytes]:
    """Return the ApiVersions request and a second request after it."""
    message = ApiVersionsRequest(client_software_name="twin", client_software_version="1")
    return [request(API_VERSIONS, version, message, 7, "twin"), probe()]


def told(frame: bytes, version: int) -> ApiVersionsResponse:
    answer = APIS[API_VERSIONS].response.decode(version, frame[4:])
    assert isinstance(answer, ApiVersionsResponse)
    return answer


def shown(answer: ApiVersionsResponse, keys: set[int], features: set[str]) -> dict[str, Any]:
    """Return the response without the known omissions. Only the presence of the epoch is comparable, because it counts a controller's
    records."""
    return {
        "error_code": answer.error_code,
        "throttle_time_ms": answer.throttle_time_ms,
        "api_keys": [(row.api_key, row.min_version, row.max_version) for row in answer.api_keys if row.api_key not in keys],
        "supported_features": sorted((f.name, f.min_version, f.max_version) for f in answer.supported_features if f.name not in features),
        "finalized_features": sorted(
            (f.name, f.min_version_level, f.max_version_level) for f in answer.finalized_features if f.name not in features
        ),
        "finalized_features_epoch": answer.finalized_features_epoch >= 0,
        "zk_migration_ready": answer.zk_migration_ready,
        "unknown_tags": dict(answer.unknown_tags),
    }


OLDER = {"4.3": 4, "3.9": 4}
"""The newest ApiVersions version that these older releases answer; later releases answer all versions of the codec."""


def differences(release: str, host: str, port: int) -> list[str]:
    """Return the differences, and the entries in the list of omissions that are wrong."""
    listed = tomllib.loads(LEFT_OUT.read_text())
    keys = {int(key): why for key, why in listed["apis"].items()}
    features = listed["features"]
    found: list[str] = []
    for version in range(OLDER.get(release, APIS[API_VERSIONS].versions.highest) + 1):
        writes = asked(version)
        mine = told(ours(release, writes).frames[0], version)
        real = told(over_tcp(host, port, writes, None).frames[0], version)
        here = {row.api_key for row in mine.api_keys}
        found += [f"key {row.api_key} is neither served nor in the list" for row in real.api_keys if row.api_key not in {*here, *keys}]
        found += [f"key {key} is served but in the list of what is left out" for key in keys if key in here]
        left, right = (shown(each, set(keys), set(features)) for each in (real, mine))
        found += [f"v{version} {name}: Kafka {left[name]}, ours {right[name]}" for name in left if left[name] != right[name]]
    return found


@pytest.mark.parametrize("release", BROKERS)
def test_advertised_as_kafka_does(release: str) -> None:
    with kafka(BROKERS[release]) as bootstrap:
        assert differences(release, *parse_address(bootstrap)) == []
