"""A bucket of moto's S3 server, which accepts any credentials."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote
from urllib.request import Request, urlopen

PATIENCE_S: Final = 60
HEADERS: Final = {"Content-Type": "application/octet-stream", "Authorization": "AWS any:any"}
"""Headers that keep urllib from declaring a body as a form, which moto would parse. moto checks that a request is signed, not how."""


class Bucket(NamedTuple):
    """An S3 bucket that is addressed by relative keys."""

    endpoint: str
    name: str

    def make(self) -> None:
        """Create the bucket, which must not exist."""
        self._asked("PUT", "")

    def upload(self, folder: Path, prefix: str) -> None:
        """Upload the files of a folder."""
        for file in folder.iterdir():
            self._asked("PUT", f"{prefix}/{file.name}", file.read_bytes())

    def download(self, prefix: str, folder: Path) -> None:
        """Download everything below a prefix as files."""
        for key in self.keys(prefix):
            if not key.endswith("/"):  # Keys that end in / are left out, because S3A stores such an object for a folder.
                file = folder / key.removeprefix(f"{prefix}/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self._asked("GET", key))

    def keys(self, prefix: str) -> list[str]:
        """Return all keys of the bucket, of which each page of the response has a thousand."""
        told = xml.fromstring(self._asked("GET", f"?list-type=2&prefix={quote(prefix)}/"))
        space = told.tag.removesuffix("ListBucketResult")
        assert told.findtext(f"{space}IsTruncated") == "false"
        return [each.text or "" for each in told.iter(f"{space}Key")]

    def _asked(self, method: str, what: str, body: bytes | None = None) -> bytes:
        where = what if what.startswith("?") else quote(f"/{what}")
        request = Request(f"{self.endpoint}/{self.name}{where}", body, HEADERS, method=method)
        with urlopen(request, timeout=PATIENCE_S) as answer:
            read: bytes = answer.read()
            return read
