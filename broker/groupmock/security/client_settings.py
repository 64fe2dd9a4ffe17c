"""A client reaches a secured listener with settings that each library names differently."""

from __future__ import annotations

import ssl
from typing import Any, Final

import msgspec

from .settings import OAUTHBEARER, WITH_SASL, WITH_TLS

PLAIN_LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_LOGIN: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
BEARER_LOGIN: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
BEARER_HANDLER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


class ClientSecurity(msgspec.Struct, frozen=True, kw_only=True):
    """The security of one listener as a client sees it. `ca` is the PEM file of the authority to trust, `certificate` and `key` are PEM
    files of a client's certificate. A listener with SASL needs `user` and `password`, and `mechanism` (PLAIN by default). With OAUTHBEARER
    the client gets its tokens from `token_endpoint`, or makes unsecured tokens without one."""

    bootstrap: str
    protocol: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    user: str | None = None
    password: str | None = None
    mechanism: str = "PLAIN"
    token_endpoint: str | None = None

    def confluent_kafka(self) -> dict[str, Any]:
        """Return settings for confluent-kafka, and all that are made of librdkafka."""
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.protocol in WITH_TLS:
            files = {"ssl.ca.location": self.ca, "ssl.certificate.location": self.certificate, "ssl.key.location": self.key}
            settings |= {name: path for name, path in files.items() if path is not None}
        if self.protocol not in WITH_SASL:
            return settings
        settings["sasl.mechanism"] = self.mechanism
        if self.mechanism != OAUTHBEARER:
            return settings | {"sasl.username": self.user, "sasl.password": self.password}
        if self.token_endpoint is None:
            return settings | {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": f"principal={self.user}"}
        oidc = {"method": "oidc", "token.endpoint.url": self.token_endpoint, "client.id": self.user, "client.secret": self.password}
        return settings | {f"sasl.oauthbearer.{name}": value for name, value in oidc.items()}

    def kafka_python(self) -> dict[str, Any]:
        """Return keyword arguments for kafka-python."""
        arguments: dict[str, Any] = {"bootstrap_servers": self.bootstrap, "security_protocol": self.protocol}
        if self.protocol in WITH_TLS:
            files = {"ssl_cafile": self.ca, "ssl_certfile": self.certificate, "ssl_keyfile": self.key}
            arguments |= {name: path for name, path in files.items() if path is not None}
        if self.protocol in WITH_SASL and self.mechanism == OAUTHBEARER:
            from .token_providers import kafka_python_provider

            return arguments | {"sasl_mechanism": OAUTHBEARER, "sasl_oauth_token_provider": kafka_python_provider(self)}
        return arguments | self._sasl()

    def aiokafka(self) -> dict[str, Any]:
        """Return keyword arguments for aiokafka."""
        arguments: dict[str, Any] = {"bootstrap_servers": self.bootstrap, "security_protocol": self.protocol}
        if self.protocol in WITH_TLS:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
            arguments["ssl_context"] = context
        if self.protocol in WITH_SASL and self.mechanism == OAUTHBEARER:
            from .token_providers import aiokafka_provider

            return arguments | {"sasl_mechanism": OAUTHBEARER, "sasl_oauth_token_provider": aiokafka_provider(self)}
        return arguments | self._sasl()

    def java(self) -> dict[str, str]:
        """Return properties for Java's clients, from release 2.7 on (PEM files, KIP-651). For signed tokens a client needs release 4.0, and
        the system property org.apache.kafka.sasl.oauthbearer.allowed.urls with the URL of the token endpoint."""
        properties = {"bootstrap.servers": self.bootstrap, "security.protocol": self.protocol}
        if self.protocol in WITH_TLS and self.ca is not None:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca}
        if self.protocol in WITH_TLS and self.certificate is not None and self.key is not None:
            keystore = {"certificate.chain": _content(self.certificate), "key": _content(self.key), "type": "PEM"}
            properties |= {f"ssl.keystore.{name}": value for name, value in keystore.items()}
        if self.protocol in WITH_SASL and self.mechanism == OAUTHBEARER:
            return properties | self._java_tokens()
        if self.protocol in WITH_SASL:
            login = SCRAM_LOGIN if self.mechanism.startswith("SCRAM") else PLAIN_LOGIN
            jaas = f'{login} required username="{_quoted(self.user)}" password="{_quoted(self.password)}";'
            properties |= {"sasl.mechanism": self.mechanism, "sasl.jaas.config": jaas}
        return properties

    def _java_tokens(self) -> dict[str, str]:
        if self.token_endpoint is None:
            jaas = f'{BEARER_LOGIN} required unsecuredLoginStringClaim_sub="{_quoted(self.user)}";'
            return {"sasl.mechanism": OAUTHBEARER, "sasl.jaas.config": jaas}
        jaas = f'{BEARER_LOGIN} required clientId="{_quoted(self.user)}" clientSecret="{_quoted(self.password)}";'
        handler = {"sasl.login.callback.handler.class": BEARER_HANDLER, "sasl.oauthbearer.token.endpoint.url": self.token_endpoint}
        return {"sasl.mechanism": OAUTHBEARER, "sasl.jaas.config": jaas, **handler}

    def _sasl(self) -> dict[str, Any]:
        if self.protocol not in WITH_SASL:
            return {}
        return {"sasl_mechanism": self.mechanism, "sasl_plain_username": self.user, "sasl_plain_password": self.password}


def _content(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def _quoted(text: str | None) -> str:
    return (text or "").replace("\\", "\\\\").replace('"', '\\"')
