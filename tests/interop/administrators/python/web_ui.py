"""Kafka Viewer, a web UI (streamlit), driven as its user would without a browser: `web_ui.py HOST:PORT`, a line of JSON per step."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from kafka import KafkaProducer
from streamlit.testing.v1 import AppTest

LONGEST = 160
PATIENCE_S = 60


def told(name: str, fine: bool, said: object) -> None:
    """One step."""
    print(json.dumps({"call": name, "ok": fine, "said": str(said)[:LONGEST]}), flush=True)


def page(bootstrap: str) -> AppTest:
    """The program's page, with a configuration of that cluster."""
    config = Path(tempfile.mkdtemp()) / "viewer.properties"
    config.write_text(f"kafka.bootstrap.servers={bootstrap}\n")
    found = importlib.util.find_spec("kafka_viewer.ui")
    assert found is not None and found.origin is not None
    sys.argv = ["ui.py", "--config", str(config)]
    return AppTest.from_file(found.origin, default_timeout=PATIENCE_S)


def wrong(app: AppTest) -> list[str]:
    """What the page shows in red."""
    return [str(each.value) for each in (*app.error, *app.exception)]


def main() -> None:
    """Connect, choose the topic, look at the statistics, load the messages."""
    bootstrap = sys.argv[1]
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(3):
        producer.send("seen", f"message {number}".encode(), key=b"k")
    producer.close()
    app = page(bootstrap).run()
    told("connects", "Status: Connected" in [each.value for each in app.subheader] and not wrong(app), wrong(app) or "Connected")
    told("lists the topics", "seen" in app.selectbox[0].options, app.selectbox[0].options)
    app.selectbox[0].set_value("seen").run()
    metrics = {each.label: each.value for each in app.metric}
    told("statistics of a topic", metrics.get("Total Records") == "3" and not wrong(app), wrong(app) or metrics)
    app.radio[0].set_value("From beginning").run()
    next(each for each in app.button if each.label == "Load Messages").click().run()
    shown = [each.value for each in app.code]
    told("loads messages from the beginning", len(shown) == 3 and not wrong(app), wrong(app) or shown)
    app.radio[0].set_value("Latest messages").run()
    next(each for each in app.button if each.label == "Load Messages").click().run()
    told("loads the latest messages", len(app.code) == 3 and not wrong(app), wrong(app) or [each.value for each in app.code])
    next(each for each in app.button if each.label == "Refresh Topic").click().run()
    told("refreshes", not wrong(app), wrong(app) or "fine")


if __name__ == "__main__":
    main()
