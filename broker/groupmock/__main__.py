"""`python -m groupmock`, and the console script."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one verb; returns the exit code. Ctrl-C while the command line is imported is an interruption like any later one."""
    try:
        from .cli import main
    except KeyboardInterrupt:
        sys.stderr.write("groupmock: interrupted\n")
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(main())
