"""Builds the pip command that installs an extra of this distribution, from wherever pip took the distribution (PEP 610)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

DISTRIBUTION: Final = "groupmock"
LIBRARY: Final = "cramjam"
"""The library that decompresses snappy, lz4 and zstd, which the extra `compression` installs."""


def opens_all() -> bool:
    """True if the library that decompresses snappy, lz4 and zstd is installed."""
    return find_spec(LIBRARY) is not None


def pip_install(*extras: str) -> str:
    """Return a shell command such as `pip install 'groupmock[control]'`, or its equivalent for a checkout, file or repository."""
    from shlex import quote

    wanted, origin = f"[{','.join(extras)}]", _origin()
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install -e {quote(_path(origin['url']) + wanted)}"
    vcs = origin.get("vcs_info")
    url = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin.get("url")
    return f"pip install {quote(DISTRIBUTION + wanted + (f' @ {url}' if url else ''))}"


def _origin() -> dict[str, Any]:
    """Return the content of direct_url.json, or {} if pip took the distribution from an index, or if the file or folder no longer
    exists."""
    import json
    import os
    from importlib import metadata

    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        text = None
    origin: dict[str, Any] = json.loads(text) if text else {}
    if origin.get("url", "").startswith("file:") and not os.path.exists(_path(origin["url"])):
        return {}
    return origin


def _path(url: str) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(url).path)
