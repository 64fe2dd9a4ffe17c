"""Run the command line: `python -m groupmock` and the console script."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one verb and return the exit code. Ctrl-C during the import of the command line ends in the same message as a later Ctrl-C."""
    try:
        from .cli import main
    except KeyboardInterrupt:
        sys.stderr.write("groupmock: interrupted\n")
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(main())
