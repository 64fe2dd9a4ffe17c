"""`python -m groupmock_clients.scenarios.live.members LIBRARY SOCKET`: the nursery of that library's members (`nursery`)."""

from __future__ import annotations

import sys

from .nursery import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
