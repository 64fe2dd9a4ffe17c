"""groupmock: a mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.

from groupmock import Broker

with Broker(topics={"orders": 12}, seed=1) as broker:
    consumer = KafkaConsumer("orders", group_id="billing", bootstrap_servers=broker.bootstrap)
"""

# Written by tools/pages/package_stub_page.py (`make docs`): do not edit.

from __future__ import annotations

from .audit.verdicts import Audit
from .config.resolve import ConfigError
from .core.groups.view import GroupView, MemberView, State
from .core.steering.offsets import Reset
from .core.steering.register import CannotSteer
from .data.facts import ConfigRow, PartitionFacts, TopicFacts
from .data.lag import GroupLag, PartitionLag
from .data.lines import BadLine
from .data.log_record import Record
from .data.seed import BadSeedData, SeedData, Seeded
from .data.writing import Written
from .faults.plan import BadPlan, Plan
from .faults.registry import RuleReport, UnknownRule
from .inprocess.async_broker import AsyncBroker, AsyncFaultBlock
from .inprocess.broker import Broker
from .inprocess.errors import FaultNeverFired, FaultNotSeen, GroupTimeout
from .inprocess.fault_rules import FaultBlock
from .inprocess.lasting import AsyncLasting, AsyncUndo, Undo
from .journal.rows import RequestRow
from .security.client_settings import ClientSecurity
from .server.fault_wait import NeverSoOften
from .server.running import CannotStart, JournalFailed, NotAudited
from .server.wait_condition import BadWait
from .version import __version__

__all__ = [
    "AsyncBroker",
    "AsyncFaultBlock",
    "AsyncLasting",
    "AsyncUndo",
    "Audit",
    "BadLine",
    "BadPlan",
    "BadSeedData",
    "BadWait",
    "Broker",
    "CannotStart",
    "CannotSteer",
    "ClientSecurity",
    "ConfigError",
    "ConfigRow",
    "FaultBlock",
    "FaultNeverFired",
    "FaultNotSeen",
    "GroupLag",
    "GroupTimeout",
    "GroupView",
    "JournalFailed",
    "MemberView",
    "NeverSoOften",
    "NotAudited",
    "PartitionFacts",
    "PartitionLag",
    "Plan",
    "Record",
    "RequestRow",
    "Reset",
    "RuleReport",
    "SeedData",
    "Seeded",
    "State",
    "TopicFacts",
    "Undo",
    "UnknownRule",
    "Written",
    "__version__",
]
