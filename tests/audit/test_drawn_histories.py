"""Every random history that tests/support/audit_histories.py can draw is playable. `make live` plays many of them."""

from __future__ import annotations

from audit_histories import PLANS, PROFILES
from cases import for_each

from groupmock.faults.plan import read_plan, rule_as_data
from groupmock.rig.wire_rig import WireRig


@for_each("profile", sorted(set(PROFILES)))
def test_every_plan_is_taken_under_every_profile(profile: str) -> None:
    for name in PLANS:
        rig = WireRig.make(profile=profile)
        rig.command("add_faults", rules=[rule_as_data(each) for each in read_plan(name).rule])
        rig.close()
