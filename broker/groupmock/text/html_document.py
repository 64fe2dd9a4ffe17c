"""A page that is one file. Its policy (Content Security Policy level 3, W3C) lets in what the file brings along and nothing else: a name
that was not escaped somewhere would be seen, and could do nothing.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final

NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'"


def document(title: str, style: str, body: str, drawn: bool = False, script: str = "", data: str = "") -> str:
    """HTML 5. `title`: plain text; `style`: CSS; `body`: HTML; `drawn`: it has SVG whose elements have styles of their own.

    `script`: JavaScript of ours, without "</"-anything in a text; `data`: JSON for it without `<`, in the element `data`, which is no
    script: nothing runs it."""
    known = _hashed(style)
    # A hash in style-src would forbid style attributes also where 'unsafe-inline' stands beside it.
    policy = f"style-src 'unsafe-inline'; style-src-elem {known}" if drawn else f"style-src {known}"
    if script:
        policy += f"; script-src {_hashed(script)}"
        body += f'\n<script type="application/json" id="data">{data}</script>\n<script>{script}</script>'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{NOTHING}; {policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
