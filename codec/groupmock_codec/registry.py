"""The registry of APIs, `APIS[11]` or `APIS["JoinGroup"]`, lists the files of `messages/` and imports each at first use.

The listing gives key and name without an import, because a starting server must not pay for messages that it never sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Final, Generic, TypeVar

from . import compiled, messages
from .declare import ApiDeclaration, Message, Versions
from .errors import DecodeError, EncodeError, Place
from .listing import stems

M = TypeVar("M", bound=Message)
FILE: Final = re.compile(r"(k(\d+)_([a-z_]+))(?:\.pyc?)?")


class Codec(Generic[M]):
    """Encodes and decodes one half of an API (or a stand-alone struct) in every version."""

    def __init__(self, message: type[M], versions: Versions, flexible_from: int | None) -> None:
        self.message, self.versions, self.flexible_from = message, versions, flexible_from

    def __repr__(self) -> str:
        return f"<Codec {self.message.__name__} {self.versions}>"

    def flexible(self, version: int) -> bool:
        """True if this version has compact lengths and tagged fields (KIP-482)."""
        return self.flexible_from is not None and version >= self.flexible_from

    def decoder(self, version: int, max_elements: int | None = None) -> compiled.Decoder[M]:
        """Return a function `(data: bytes, offset) -> (message, end)`, which does not check the bytes after `end`. `max_elements` limits
        the array elements and tagged fields of an untrusted peer's message; more raise TooManyElements before they are built."""
        if version not in self.versions:
            raise DecodeError(f"{self.message.__name__} v{version} cannot be read", self._no_version)
        return compiled.decoder(self.message, version, self.flexible(version), max_elements)

    def encoder(self, version: int) -> compiled.Encoder[M]:
        """Return a function `message -> bytes` that encodes in this version."""
        if version not in self.versions:
            raise EncodeError(f"{self.message.__name__} v{version} cannot be written", self._no_version)
        return compiled.encoder(self.message, version, self.flexible(version))

    def decode(self, version: int, data: bytes | bytearray | memoryview, trailing: bool = False, max_elements: int | None = None) -> M:
        """Decode one message from its bytes. Bytes left over are refused unless `trailing` (Kafka's server ignores them);
        `max_elements` as in `decoder`."""
        data = bytes(data)
        message, end = self.decoder(version, max_elements)(data, 0)
        if end != len(data) and not trailing:
            reason = f"{len(data) - end} bytes left over"
            raise DecodeError(f"{self.message.__name__} v{version} cannot be read", Place(reason, offset=end))
        return message

    def encode(self, version: int, message: M) -> bytes:
        """Encode one message in this version. Raises EncodeError for what that version cannot carry."""
        return self.encoder(version)(message)

    def newest(self, message: M, highest: int) -> int:
        """Return the newest version, at most `highest`, that can encode every field of the message. Raises EncodeError if none does."""
        for version in reversed(range(self.versions.lowest, highest + 1)):
            if self._carries(version, message):
                return version
        raise EncodeError(f"{self.message.__name__} cannot be written", lambda: Place(f"no version up to {highest} carries {message!r}"))

    def _carries(self, version: int, message: M) -> bool:
        try:
            # The encoded message is decoded and compared, because a version drops ignorable fields silently.
            return self.decode(version, self.encode(version, message)) == message
        except EncodeError:
            return False

    def _no_version(self) -> Place:
        return Place(f"versions {self.versions} exist")


class Api:
    """One API with the codecs of its request and its response. `key`, `name` and `stem` (of its files) are known without loading the
    messages."""

    def __init__(self, key: int, stem: str) -> None:
        self.key, self.stem = key, stem
        self.name = "".join(part.capitalize() for part in stem.split("_")[1:])

    def __repr__(self) -> str:
        return f"<Api {self.key} {self.name}>"

    @cached_property
    def declaration(self) -> ApiDeclaration:
        """Return the `API` of the message file, which is imported at the first access."""
        found = import_module(f"{messages.__name__}.{self.stem}").API
        assert isinstance(found, ApiDeclaration) and (found.key, found.name) == (self.key, self.name), found
        return found

    @property
    def versions(self) -> Versions:
        """Return the range of versions that this codec can encode and decode."""
        return self.declaration.versions

    @property
    def flexible_from(self) -> int | None:
        """Return the first flexible version (KIP-482), or None if there is none."""
        return self.declaration.flexible_from

    @cached_property
    def request(self) -> Codec[Message]:
        """Return the codec of the API's request."""
        return Codec(self.declaration.request, self.versions, self.flexible_from)

    @cached_property
    def response(self) -> Codec[Message]:
        """Return the codec of the API's response."""
        return Codec(self.declaration.response, self.versions, self.flexible_from)


class Apis(Mapping[int | str, Api]):
    """All APIs in the order of their keys, which can be looked up by key or by Kafka's name."""

    def __init__(self, files: list[str]) -> None:
        apis = sorted((Api(int(found[2]), found[1]) for stem in files if (found := FILE.fullmatch(stem))), key=lambda api: api.key)
        self._by_key = {api.key: api for api in apis}
        self._by_name = {api.name: api for api in apis}

    def __getitem__(self, key: int | str) -> Api:
        return self._by_key[key] if isinstance(key, int) else self._by_name[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key or key in self._by_name


APIS: Final = Apis(stems(messages.__path__))
