"""These commands change who may authenticate on listeners with SASL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from .register import Arguments, NoSuch, NotNow, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

UserName = Annotated[str, Meta(description="name of the user, without User:", min_length=1, max_length=1000)]
SET_USER = "set_user"


class SetUser(Arguments):
    """Let a user authenticate with this password, by PLAIN and by both mechanisms of SCRAM. Connections that exist are not touched."""

    name: UserName
    password: Annotated[str, Meta(description="the password, which no journal shows", max_length=1000)]


@steers(SET_USER, SetUser)
def set_user(cluster: Cluster, arguments: SetUser, turn: Turn) -> None:
    """Add a user, or replace all credentials of a user."""
    if not cluster.credentials.set_password(arguments.name, arguments.password):
        raise NotNow("there is no room for another user: remove some first")


class RemoveUser(Arguments):
    """Remove a user with all credentials. Its connections go on until they have to authenticate again (SEC-36)."""

    name: UserName


@steers("remove_user", RemoveUser)
def remove_user(cluster: Cluster, arguments: RemoveUser, turn: Turn) -> None:
    if not cluster.credentials.remove(arguments.name):
        raise NoSuch(f"no user {arguments.name!r}")
