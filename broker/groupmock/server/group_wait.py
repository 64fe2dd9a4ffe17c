"""Wait for the state of a group, and say which conditions can hold at all, when they hold, and what is missing when the time is up.

The in-process API, HTTP and the command line share the same words. Nothing polls: a row of the journal says that something changed
(`Running.until`), and only then are the conditions checked, the cheapest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec.group_states import DEAD, NOT_READY

from ..core.groups.classic.states import State
from ..core.groups.consumer.states import State as OfConsumers
from ..core.groups.view import GroupView, MemberView
from ..core.java.numbers import whole_number
from ..core.steering.find import LISTED, listed
from ..data.lag import lag_of
from ..text import bounded as bounded_text
from ..text.printable import brief, printable, quoted
from ..text.suggest import did_you_mean, hint
from . import share_wait, streams_wait
from .running import CHANGES
from .wait_condition import BadWait, Condition, Place, Sight, places

if TYPE_CHECKING:
    from .running import Running

STATES: Final = (*(str(each) for each in State), str(OfConsumers.ASSIGNING), str(OfConsumers.RECONCILING), NOT_READY)
"""The states of a group that a wait can be for. Dead means that the group does not exist, as DescribeGroups says."""
WITH_MEMBERS: Final = (str(State.COMPLETING), str(State.STABLE), str(OfConsumers.ASSIGNING), str(OfConsumers.RECONCILING), NOT_READY)
"""The states in which a group always has members."""
MOVES: Final = CHANGES | {"request", "reply", "command", "note", "timer"}
"""The kinds of rows after which an offset may have been committed, a record written or a partition added."""
Assignment = str | Iterable[str] | Mapping[str, Iterable[str] | Mapping[str, list[int]]]
"""The assignment that a wait is for: topics whose partitions are all assigned, or the partitions of each member: {"anna": ["orders/0"]},
{"anna": {"orders": [0]}}."""


class Wanted(NamedTuple):
    """A group and the conditions to wait for. Without conditions the group only has to exist."""

    group: str
    conditions: list[Condition]
    gone: bool

    def reached(self, sight: Sight) -> bool:
        """True if all conditions hold now."""
        return (self.gone or sight.group is not None) and all(each.lacks(sight) is None for each in self.conditions)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of rows after which conditions that did not hold may hold."""
        return MOVES if any(each.reads_offsets for each in self.conditions) else CHANGES

    def __str__(self) -> str:
        return ", ".join(each.wanted for each in self.conditions) or "existence"


class Missed(NamedTuple):
    """The result of a wait that ran out of time. `sentence` has the wanted and the present state, `lacking` one line for each condition,
    `advice` a remedy, and `obstacles` the members that the group awaits and the clients that were never served."""

    sentence: str
    lacking: list[str]
    advice: str
    obstacles: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The whole explanation of a missed wait in one line."""
        lacking = f"; missing: {'; '.join(self.lacking)}" if self.lacking else ""
        return "; ".join([f"{self.sentence}{lacking}", *self.obstacles, self.advice])

    @property
    def lines(self) -> str:
        """The explanation of a missed wait, one fact in each line."""
        return "\n".join([self.sentence, *(f"missing: {each}" for each in self.lacking), *self.obstacles, self.advice])


async def reach(running: Running, wanted: Wanted, timeout: float) -> GroupView | Missed:
    """Wait until the conditions on a group hold, for at most `timeout` seconds or until the cluster is closed."""

    def there() -> Sight | None:
        sight = Sight(running.cluster, wanted.group)
        return sight if running.closed or wanted.reached(sight) else None

    sight = await running.until(wanted.kinds, there, timeout)
    if sight is not None and not running.closed:
        return sight.view
    missed = _missed(running, wanted, timeout)
    return missed if running.closed else missed._replace(obstacles=tuple(await running.obstacles(wanted.group)))


def wanted_of(
    group: str,
    *,
    state: str | None = None,
    members: int | None = None,
    assignment: Assignment | None = None,
    offsets: Mapping[str, int] | None = None,
    lag: int | None = None,
    member: str | None = None,
    generation: int | None = None,
    acquired: int | None = None,
    deliveries: int | None = None,
    tasks: streams_wait.TaskAssignment | None = None,
    standbys: streams_wait.TaskAssignment | None = None,
) -> Wanted:
    """Build a wait from conditions. Raises BadWait for a wait that can never succeed. `state`: Kafka's name; `members`: their exact
    number; `member`: the member id, instance id or client id of one of them; `generation`: at least; `assignment`: see `Assignment`;
    `offsets`: {"orders/0": 17}, committed up to there or further; `lag`: at most so many records of the group's partitions are not
    committed yet, or not done in a share group; `acquired`: members of a share group have at most so many records; `deliveries`: a record
    of a share group that is not done was delivered at least so often; `tasks`, `standbys`: {"anna": ["0_1"]}, the active and the standby
    tasks that members of a streams group have."""
    _check_numbers(members=members, lag=lag, generation=generation, acquired=acquired, deliveries=deliveries)
    named = _by_member(assignment) if isinstance(assignment, Mapping) else {}
    if members is not None:
        _check_members(members, member, named)
    made = []
    if state is not None:
        said = {"members": members or None, "member": member, "generation": generation, "offsets": offsets, "lag": lag}
        _check_state(state, members, said | {"assignment": assignment})
        made.append(_state(state))
    if members is not None:
        made.append(_members(members))
    if generation is not None:
        made.append(_generation(generation))
    if member is not None:
        made.append(_member(member))
    if assignment is not None:
        made.append(_assigned_to(named) if named else _all_assigned(_topics(assignment)))
    if offsets is not None:
        if not isinstance(offsets, Mapping):
            raise BadWait(f'offsets: {{"orders/0": 17}}, not {offsets!r}')
        made.append(_committed({_place(place): _offset(place, offset) for place, offset in offsets.items()}))
    if lag is not None:
        made.append(_lag(lag))
    if acquired is not None:
        made.append(share_wait.acquired(acquired))
    if deliveries is not None:
        made.append(share_wait.deliveries(deliveries))
    made += [streams_wait.tasks(role, each) for role, each in (("active", tasks), ("standby", standbys)) if each is not None]
    return Wanted(group, made, gone=state == DEAD)


def from_texts(group: str, texts: Mapping[str, Any]) -> Wanted:
    """Build a wait from the texts of a query. `offsets` is orders/0=17,orders/1=3 or a JSON object; `assignment` is topics separated by
    commas, or JSON. `tasks` and `standbys` are JSON objects. Raises BadWait."""
    values = {name: value for name, value in texts.items() if value is not None}
    if "offsets" in values:
        values["offsets"] = _offsets_text(values["offsets"])
    if "assignment" in values:
        values["assignment"] = _assignment_text(values["assignment"])
    values |= {name: _json(values[name], name) for name in ("tasks", "standbys") if name in values}
    return wanted_of(group, **values)


def _state(state: str) -> Condition:
    def lacks(sight: Sight) -> str | None:
        now = str(sight.group.state) if sight.group is not None else DEAD
        return None if now == state else f"state {state}: it is {now}"

    return Condition(f"state {state}", lacks)


def _members(count: int) -> Condition:
    def lacks(sight: Sight) -> str | None:
        now = len(sight.group.members) if sight.group is not None else 0
        return None if now == count else f"members {count}: it has {now}"

    return Condition(f"members {count}", lacks)


def _generation(least: int) -> Condition:
    def lacks(sight: Sight) -> str | None:
        now = sight.group.generation if sight.group is not None else 0
        return None if now >= least else f"generation {least} or later: it is {now}"

    return Condition(f"generation at least {least}", lacks)


def _member(name: str) -> Condition:
    def lacks(sight: Sight) -> str | None:
        return None if sight.members(name) else f"member {quoted(name)}: there are {listed([_name(each) for each in sight.view.members])}"

    return Condition(f"member {quoted(name)}", lacks)


def _all_assigned(topics: list[str]) -> Condition:
    def lacks(sight: Sight) -> str | None:
        owners, missing = sight.assigned(), []
        for topic in topics:
            count = sight.cluster.topics.partitions(topic)
            if count is None:
                missing.append(f"there is no topic {quoted(topic)}")
            elif free := [(topic, number) for number in range(count) if (topic, number) not in owners]:
                missing.append(f"{shownplaces(free)} assigned to nobody")
        return "; ".join(missing) or None

    return Condition(f"all of {', '.join(map(printable, topics))} assigned", lacks)


def _assigned_to(named: dict[str, set[Place]]) -> Condition:
    def lacks(sight: Sight) -> str | None:
        missing = []
        for name, partitions in named.items():
            found = sight.members(name)
            has = {place for member in found for place in places(member)}
            if not found:
                missing.append(f"there is no member {quoted(name)}")
            elif has != partitions:
                missing.append(f"{quoted(name)} to have {shownplaces(partitions)}: it has {shownplaces(has)}")
        return "; ".join(missing) or None

    words = "; ".join(f"{quoted(name)} {shownplaces(partitions)}" for name, partitions in named.items())
    return Condition(f"assignment {words}", lacks)


def _committed(wanted: dict[Place, int]) -> Condition:
    def lacks(sight: Sight) -> str | None:
        missing = []
        for (topic, partition), offset in wanted.items():
            now = sight.view.offsets.get(topic, {}).get(partition)
            if now is None or now < offset:
                missing.append(
                    f"{printable(topic)}/{partition} committed up to {offset}: it is {'at none' if now is None else f'at {now}'}"
                )
        return _several(missing) or None

    words = _several([f"{printable(topic)}/{partition}={at}" for (topic, partition), at in wanted.items()], ", ")
    return Condition(f"offsets {words}", lacks, reads_offsets=True)


def _lag(most: int) -> Condition:
    def lacks(sight: Sight) -> str | None:
        behind = lag_of(sight.cluster, sight.view)
        if not behind.partitions:
            return f"lag {most} or less: it is unknown, because the group has neither partitions nor committed offsets"
        if behind.lag is None:
            unknown = [f"{printable(each.topic)}/{each.partition}" for each in behind.partitions if each.lag is None]
            return f"lag {most} or less: it is unknown, because nothing is committed for {_several(unknown, ', ')}"
        if behind.lag <= most:
            return None
        late = [f"{printable(each.topic)}/{each.partition} {each.lag}" for each in behind.partitions if each.lag]
        return f"lag {most} or less: it is {behind.lag} ({_several(late, ', ')})"

    return Condition(f"lag {most}", lacks, reads_offsets=True)


def _check_numbers(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 0:
            raise BadWait(f"{name} is 0 or more, not {number}")


def _check_state(state: str, members: int | None, said: Mapping[str, Any]) -> None:
    if state not in STATES:
        raise BadWait(f"no state {state!r} of a group{hint(state, STATES)}: there are {', '.join(STATES)}")
    if members == 0 and state in WITH_MEMBERS:
        raise BadWait(f"members 0 in state {state} can never hold: a group without members is Empty")
    never = ("members", "member", "assignment") if state == State.EMPTY else tuple(said) if state == DEAD else ()
    for name in never:
        if said[name] is not None:
            why = "there is no such group then" if state == DEAD else "nobody is in it then"
            raise BadWait(f"{name} in state {state} can never hold: {why}")


def _check_members(members: int, member: str | None, named: Mapping[str, Any] | None) -> None:
    if members < len(named or ()):
        raise BadWait(f"members {members} and an assignment of {len(named or ())} members can never hold together")
    if members == 0 and member is not None:
        raise BadWait(f"members 0 and member {member!r} can never hold together")


def _topics(assignment: object) -> list[str]:
    topics = [assignment] if isinstance(assignment, str) else list(assignment) if isinstance(assignment, Iterable) else []
    if not topics or not all(isinstance(each, str) and each for each in topics):
        raise BadWait('assignment is a topic, several of them, or what each member has: {"anna": ["orders/0", "orders/1"]}')
    return topics


def _by_member(assignment: Mapping[str, Any]) -> dict[str, set[Place]]:
    if not assignment:
        raise BadWait('assignment names no member: {"anna": ["orders/0", "orders/1"]}')
    return {name: set(_places_of(name, value)) for name, value in assignment.items()}


def _places_of(name: str, given: object) -> Iterable[Place]:
    if isinstance(given, Mapping):
        given = [
            f"{topic}/{number}" for topic, numbers in given.items() for number in (numbers if isinstance(numbers, list) else [numbers])
        ]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadWait(f'assignment of {name!r}: a list of partitions, as ["orders/0", "orders/1"]; [] for none')
    return [_place(each) for each in given]


def _place(text: object) -> Place:
    topic, slash, number = str(text).rpartition("/")
    index = whole_number(number, 31) if number.isascii() else None
    if not (topic and slash) or index is None or index < 0:
        raise BadWait(f"{brief(text)} is no partition: write topic/number, as orders/0")
    return topic, index


def _offset(place: str, offset: object) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise BadWait(f"offsets: {place} is to be at a number from 0, not {offset!r}")
    return offset


def _offsets_text(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        found = _json(text, "offsets")
        assert isinstance(found, dict)
        return found
    offsets: dict[str, Any] = {}
    for each in text.split(","):
        place, equals, offset = each.strip().rpartition("=")
        number = whole_number(offset, 63) if offset.isascii() else None
        if not equals or number is None or number < 0:
            raise BadWait(f"offsets: {brief(each)} is no offset: write orders/0=17,orders/1=3")
        offsets[place] = number
    return offsets


def _assignment_text(text: str) -> Any:
    return _json(text, "assignment") if text.lstrip()[:1] in ("{", "[") else [each.strip() for each in text.split(",")]


def _json(text: str, what: str) -> Any:
    try:
        return bounded_text.json(text.encode(errors="backslashreplace"))
    except bounded_text.BadText as bad:
        raise BadWait(f"{what} is {bad}") from None


def shownplaces(partitions: Iterable[Place]) -> str:
    """Return partitions in a short form: `orders/0-3,7`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return _several([f"{printable(topic)}/{_ranges(numbers)}" for topic, numbers in by_topic.items()], ", ") or "nothing"


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return _several([str(first) if first == last else f"{first}-{last}" for first, last in runs], ",")


def _several(texts: list[str], between: str = "; ") -> str:
    """Join the first few texts and say how many more there are."""
    more = [f"{len(texts) - LISTED} more"] if len(texts) > LISTED else []
    return between.join([*texts[:LISTED], *more])


def _name(member: MemberView) -> str:
    return printable(member.group_instance_id or member.client_id or member.member_id)


def short(view: GroupView) -> str:
    """Describe a group in one line, with its state, its generation, and the partitions of each member."""
    members = [f"{_name(each)} has {shownplaces(places(each))}" for each in view.members]
    head = f"{view.state} with {len(members)} members in generation {view.generation}"
    return f"{head} ({_several(members)})" if members else head


def _missed(running: Running, wanted: Wanted, timeout: float) -> Missed:
    sight = Sight(running.cluster, wanted.group)
    now = "there is no such group" if sight.group is None else f"it is {short(sight.view)}"
    sentence = f"group {wanted.group!r} did not reach {wanted} within {timeout:g} s: {now} (seed {running.seed})"
    if running.closed:
        return Missed(f"the cluster was reset or stopped while group {wanted.group!r} was waited for", [], "wait again after the reset")
    lacking = [missing for each in wanted.conditions if (missing := each.lacks(sight)) is not None] if sight.group is not None else []
    return Missed(sentence, lacking, _advice(running, sight))


def _advice(running: Running, sight: Sight) -> str:
    """Say which hold or fault rule keeps the group from making progress, or else where to look."""
    kept = list(_kept(running, sight))
    if kept:
        return "; ".join(kept)
    if sight.group is None:
        known = [each.group_id for each in running.cluster.groups.all()]
        near = did_you_mean(sight.group_id, known)
        return near or f"groups there are: {listed([printable(each) for each in known])}; clients reach this cluster at {running.bootstrap}"
    return f"its story says what its clients did (`groupmock group show {printable(sight.group_id)}`); a longer `timeout` waits longer"


def _kept(running: Running, sight: Sight) -> Iterable[str]:
    cluster = running.cluster
    held = cluster.environment.holds.of(sight.group_id)
    if held.state is not None:
        yield f"it is held in {held.state}, with {held.waiting} requests and timers: it moves on when it is released (`release`)"
    for member in held.frozen:
        yield f"member {printable(member)} is frozen: it goes on when it is thawed (`thaw`)"
    node = cluster.groups.hosting.node_of(sight.group_id)
    if node in cluster.environment.stalled:
        yield f"its coordinator, node {node}, is stalled: it goes on when it is started (`start_node`)"
    for report in running.server.driver.rules.reports():
        if report.holding:
            yield f"fault rule {quoted(report.name)} holds {report.holding} calls: they go on when it releases them (`release_fault`)"
