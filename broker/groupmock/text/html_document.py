"""Build an HTML document that needs no other file.

Its policy (Content Security Policy level 3, W3C) allows only the styles and scripts of the file itself, so that a name that was not
escaped could be seen but could do nothing.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final

NOTHING: Final = "default-src 'none'; base-uri 'none'; form-action 'none'"


def document(title: str, style: str, body: str, drawn: bool = False, script: str = "", data: str = "") -> str:
    """Return an HTML 5 document with this content. `title` is plain text, `style` CSS, `body` HTML. `drawn`: the body has SVG elements
    with style attributes. `script` is JavaScript of ours that has no "</" in any text. `data` is JSON for it without `<`; its element
    `data` is of a type that no browser runs."""
    known = _hashed(style)
    # A hash in style-src would forbid style attributes, even beside 'unsafe-inline'.
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
