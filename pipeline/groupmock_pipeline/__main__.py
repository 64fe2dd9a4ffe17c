"""Run `python -m groupmock_pipeline JOB IN OUT`. spark-submit runs this file too: `spark-submit .../groupmock_pipeline/__main__.py JOB
IN OUT`."""

from __future__ import annotations

import sys

from groupmock_pipeline.command import main

sys.exit(main(sys.argv[1:], "groupmock pipeline"))
