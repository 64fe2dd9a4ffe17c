"""The control API and the metrics show the audit's findings about clients."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from wrong_client import wrong

from groupmock import Broker
from groupmock.server.running import NotAudited

SETTINGS = {"group.initial.rebalance.delay.ms": 0}


def ask(broker: Broker, path: str) -> Any:
    assert broker.control is not None
    with urlopen(broker.control + path) as answer:
        text = answer.read().decode()
        return json.loads(text) if answer.headers.get_content_type() == "application/json" else text


def refused(broker: Broker, path: str) -> tuple[int, str]:
    with pytest.raises(HTTPError) as caught, urlopen(f"{broker.control}{path}"):
        pass
    with caught.value as answer:
        return answer.code, answer.read().decode()


def test_verdicts_findings_and_metrics() -> None:
    with Broker(control=0, audit=True, settings=SETTINGS) as broker:
        wrong(broker.bootstrap)
        told = ask(broker, "/v1/audit?rule=CLIENT-05")
        assert told["verdict"] == "broken" and [rule["broken"] for rule in told["rules"]] == [1]
        assert ask(broker, "/v1/audit?verdict=broken&group=billing")["rules"]
        assert ask(broker, "/v1/audit?group=elsewhere")["verdict"] == "not exercised"
        (finding,) = ask(broker, "/v1/audit/findings?rule=CLIENT-05&group=billing")
        assert finding["sentence"].endswith("joined generation 1 and sent a SyncGroup for generation 7")
        assert "\x1b" not in finding["sentence"]
        wrong(broker.bootstrap, "other")
        (whole,) = ask(broker, "/v1/audit/clients?rule=CLIENT-05")
        assert (whole["count"], whole["library"], whole["groups"], whole["first"]) == (2, None, ["billing", "other"], finding)
        assert whole["last"]["t"] > finding["t"] and len(whole["members"]) == 2
        (other,) = ask(broker, "/v1/audit/clients?rule=CLIENT-05&group=other&waived=false")
        assert (other["count"], other["groups"]) == (1, ["other"])
        rows = ask(broker, "/v1/journal/find?kind=finding")["rows"]
        assert finding["sentence"] in [row["sentence"] for row in rows]
        assert 'groupmock_audit_broken_total{rule="CLIENT-05"} 2.0' in ask(broker, "/metrics")
        assert "CLIENT-05 broken: " in broker.story("billing")
        assert refused(broker, "/v1/audit?rule=CLIENT-5")[0] == 404
        assert refused(broker, "/v1/audit?verdict=good")[0] == 400
        broker.clear()
        assert ask(broker, "/v1/audit")["verdict"] == "not exercised"


def test_without_an_audit_there_is_none() -> None:
    with Broker(control=0) as broker:
        status, said = refused(broker, "/v1/audit")
        assert status == 409 and "start with --audit" in said
        assert "groupmock_audit" not in ask(broker, "/metrics")
        with pytest.raises(NotAudited, match="audit=True"):
            broker.audit()
