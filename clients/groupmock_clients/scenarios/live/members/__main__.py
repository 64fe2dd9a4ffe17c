"""`python -m groupmock_clients.scenarios.live.members LIBRARY SOCKET` is the fork server of that library's members."""

from __future__ import annotations

import sys

from .forkserver import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
