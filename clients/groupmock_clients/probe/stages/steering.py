"""Commands of the core about rights and users as requests of a super user to any broker: `!allow`, `!deny`, `!remove_acls`, `!set_user`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupmock.core.authorizer.acl import (
    ALLOW,
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    DENY,
    GROUP,
    LITERAL,
    OPERATIONS,
    PREFIXED,
    TOPIC,
    TRANSACTIONAL_ID,
)
from groupmock.security.scram import NAMES, salted
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest
from groupmock_codec.messages.k30_create_acls import AclCreation, CreateAclsRequest
from groupmock_codec.messages.k31_delete_acls import DeleteAclsFilter, DeleteAclsRequest
from groupmock_codec.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

from ..language.scope import Value
from .contract import NotOnThisStage

if TYPE_CHECKING:
    from .tcp_broker import TcpBroker

VERSION: Final = 2
"""The version of requests about ACLs; every broker since 2.4 has it."""
APPLIED_S: Final = 10.0
ITERATIONS: Final = 4096
SALT: Final = b"groupmock probe"
NUMBERS: Final = {name: number for number, name in OPERATIONS.items()}
KINDS: Final = {"topic": TOPIC, "group": GROUP, "transactional_id": TRANSACTIONAL_ID}
ORDERS: Final = ("allow", "deny", "remove_acls", "set_user", "remove_user")


class Steering:
    """Steers the rights and users of one broker. `made` has the passwords of users that were made."""

    def __init__(self, broker: TcpBroker) -> None:
        self._broker = broker
        self.made: dict[str, str] = {}
        self._rules_made: set[tuple[int, str, int, str]] = set()

    def command(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Carry out a command and wait until the broker has applied it. Raises NotOnThisStage."""
        if name not in ORDERS:
            raise NotOnThisStage(f"!{name} is a command of the core")
        if name == "set_user":
            self._set_user(arguments["name"], arguments["password"])
        elif name == "remove_user":
            self._remove_user(arguments["name"])
        elif name == "remove_acls":
            self._remove(arguments)
        else:
            self._add(arguments, ALLOW if name == "allow" else DENY)

    def clean_up(self) -> None:
        """Delete all users and rules that were made."""
        filters = [
            DeleteAclsFilter(kind, name, pattern, principal, None, ANY, ANY) for kind, name, pattern, principal in sorted(self._rules_made)
        ]
        if filters:
            self._broker.ask(31, VERSION, DeleteAclsRequest(filters=filters))
        for name in list(self.made):
            self._remove_user(name)

    def _add(self, arguments: Mapping[str, Any], permission: int) -> None:
        kind, name = _resource(arguments)
        pattern = PREFIXED if arguments.get("prefixed") else LITERAL
        principal, host = _principal(arguments["principal"]), arguments.get("host", "*")
        wanted = [NUMBERS[each] for each in arguments["operations"]]
        creations = [AclCreation(kind, name, pattern, principal, host, each, permission) for each in wanted]
        self._rules_made.add((kind, name, pattern, principal))
        answer: Any = self._broker.ask(30, VERSION, CreateAclsRequest(creations=creations))
        for result in answer.results:
            if result.error_code:
                raise NotOnThisStage(f"the broker makes no rule: error {result.error_code} {result.error_message or ''}")
        here = {"resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": pattern, "principal_filter": principal}
        self._until(lambda: {(each, permission) for each in wanted} <= self._rules(**here), "the new rules")

    def _remove(self, arguments: Mapping[str, Any]) -> None:
        named = any(arguments.get(each) for each in (*KINDS, "cluster"))
        kind, name = _resource(arguments) if named else (ANY, None)
        principal = _principal(arguments["principal"]) if "principal" in arguments else None
        wanted = [NUMBERS[each] for each in arguments.get("operations", ())] or [ANY]
        here: dict[str, Any] = {
            "resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": ANY, "principal_filter": principal,
        }  # fmt: skip
        filters = [DeleteAclsFilter(**here, host_filter=None, operation=each, permission_type=ANY) for each in wanted]
        self._broker.ask(31, VERSION, DeleteAclsRequest(filters=filters))
        gone = set(wanted)
        self._until(lambda: not any(ANY in gone or operation in gone for operation, _ in self._rules(**here)), "the end of the rules")

    def _rules(self, **here: Any) -> set[tuple[int, int]]:
        answer: Any = self._broker.ask(29, VERSION, DescribeAclsRequest(**here, host_filter=None, operation=ANY, permission_type=ANY))
        return {(acl.operation, acl.permission_type) for resource in answer.resources for acl in resource.acls}

    def _set_user(self, name: str, password: str) -> None:
        # One request names a user once (SEC-38), so each mechanism has its own.
        for mechanism in NAMES:
            secret = salted(mechanism, password, SALT, ITERATIONS)
            upsertion = ScramCredentialUpsertion(name=name, mechanism=mechanism, iterations=ITERATIONS, salt=SALT, salted_password=secret)
            self._alter(AlterUserScramCredentialsRequest(upsertions=[upsertion]))
        self.made[name] = password

    def _remove_user(self, name: str) -> None:
        for mechanism in NAMES:
            self._broker.ask(51, 0, AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(name=name, mechanism=mechanism)]))
        self.made.pop(name, None)

    def _alter(self, request: AlterUserScramCredentialsRequest) -> None:
        answer: Any = self._broker.ask(51, 0, request)
        for result in answer.results:
            if result.error_code:
                raise NotOnThisStage(f"the broker makes no user: error {result.error_code} {result.error_message or ''}")

    @staticmethod
    def _until(done: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + APPLIED_S
        while not done():
            if time.monotonic() > end:
                raise NotOnThisStage(f"the broker has not applied {what} after {APPLIED_S:.0f} s")
            time.sleep(0.01)  # The broker is polled, because it offers no event to wait for.


def _resource(arguments: Mapping[str, Value]) -> tuple[int, str]:
    if arguments.get("cluster"):
        return CLUSTER, CLUSTER_NAME
    return next((kind, str(arguments[name])) for name, kind in KINDS.items() if name in arguments)


def _principal(text: str) -> str:
    return text if ":" in text else f"User:{text}"
