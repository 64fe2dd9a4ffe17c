"""The token endpoint (RFC 6749, 4.4) and the key set of signed bearer tokens: what librdkafka's `sasl.oauthbearer.method=oidc` and Java's
OAuthBearerLoginCallbackHandler ask for. A client is a user of the cluster, and its secret is the user's password."""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, unquote_plus

import msgspec
from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..core.steering import NoSuch
from ..security.settings import OAUTHBEARER, WITH_SASL
from .context import ControlContext
from .route import ControlCall

GRANT: Final = "client_credentials"
MOST_FIELDS: Final = 20
YEAR_S: Final = 365 * 24 * 3600
NOT_SIGNED: Final = "the tokens of this cluster are not signed by groupmock: start it with --oauth signed"


class TokenRefused(Exception):
    """Raised for a request that gets no token. `error` is one of RFC 6749, 5.2."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status


class TokenForm(msgspec.Struct):
    """The fields of the form. A client that sends no header Authorization (Basic) names itself here."""

    grant_type: str = GRANT
    scope: str = ""
    client_id: str = ""
    client_secret: str = ""


class TokenQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The listener that a token is for, the first with SASL if none is named, and how long the token lasts."""

    listener: str = ""
    expires_in: Annotated[int, Meta(description="seconds; a negative number gives a token that has expired", ge=-YEAR_S, le=YEAR_S)] = 3600


class Token(msgspec.Struct):
    """A successful answer (RFC 6749, 5.1)."""

    access_token: str
    expires_in: int
    token_type: str = "Bearer"
    scope: str = ""


async def keys(context: ControlContext, call: ControlCall) -> dict[str, Any]:
    """Return the key set that checks the issued tokens. Raises NoSuch."""
    issuer = context.running.issuer
    if issuer is None:
        raise NoSuch(NOT_SIGNED)
    return issuer.document


async def token(context: ControlContext, call: ControlCall) -> Token:
    """Give a token to a client that knows its secret. Raises NoSuch or TokenRefused."""
    running = context.running
    if running.issuer is None:
        raise NoSuch(NOT_SIGNED)
    form = _form(call.raw)
    if form.grant_type != GRANT:
        raise TokenRefused("unsupported_grant_type", f"there is no grant but {GRANT}")
    security = running.config.security
    assert security is not None
    names = [each.name for each in running.config.listeners if each.protocol in WITH_SASL]
    listener = call.query.listener or names[0]
    if listener not in names:
        raise TokenRefused("invalid_request", f"no listener with SASL is named {listener!r}: there are {', '.join(names)}")
    client = _client(call.authorization, form, None if security.any_user else running.cluster.credentials.passwords)
    now_s = running.core.environment.wall_ms(running.clock.now()) // MS_PER_S
    settings = security.listeners[listener].of(OAUTHBEARER)
    made = running.issuer.issue(client, now_s, call.query.expires_in, form.scope, running.control or "groupmock", settings)
    return Token(made, call.query.expires_in, scope=form.scope)


def _form(raw: bytes) -> TokenForm:
    try:
        fields = parse_qs(raw.decode(), keep_blank_values=True, strict_parsing=bool(raw), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise TokenRefused("invalid_request", f"the body is no form of at most {MOST_FIELDS} fields in UTF-8") from None
    repeated = [name for name, values in fields.items() if len(values) > 1]
    if repeated:
        raise TokenRefused("invalid_request", "a field is there twice")
    known = {name: values[0] for name, values in fields.items() if name in TokenForm.__struct_fields__}
    return TokenForm(**{"grant_type": "", **known})


def _client(authorization: str, form: TokenForm, passwords: dict[str, str] | None) -> str:
    """Return the name of the client. With `passwords` it has to know that of its name. Raises TokenRefused."""
    name, secret = form.client_id, form.client_secret
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            name, _, secret = b64decode(encoded, validate=True).decode().partition(":")
        except (Error, ValueError):
            raise TokenRefused("invalid_client", "the header Authorization cannot be read", 401) from None
    # RFC 6749 wants both encoded as in a form, but few clients do that.
    for client, given in ((name, secret), (unquote_plus(name), unquote_plus(secret))):
        if client and (passwords is None or hmac.compare_digest(passwords.get(client, "").encode() or b"\0", given.encode())):
            return client
    raise TokenRefused("invalid_client", f"client {name} is no user (--user NAME:PASSWORD) or has another password", 401)
