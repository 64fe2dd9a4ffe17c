"""`python -m groupmock_clients.probe` is the same as `groupmock probe`."""

from __future__ import annotations

import sys

from groupmock.cli import main

if __name__ == "__main__":
    sys.exit(main(["probe", *sys.argv[1:]]))
