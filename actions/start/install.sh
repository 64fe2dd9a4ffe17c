#!/usr/bin/env bash
# Installs groupmock into an environment of its own, below RUNNER_TEMP: what the job tests with is not touched.
set -eu -o pipefail

refuse() { echo "::error title=groupmock::$1"; exit 1; }

[ "${RUNNER_OS:-Linux}" != Windows ] || refuse "groupmock serves on Linux and macOS; this runner is Windows"
"$GROUPMOCK_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  refuse "groupmock needs Python 3.11 or newer, and $GROUPMOCK_PYTHON is none: run actions/setup-python before, or set the input \`python\`"
folder=$RUNNER_TEMP/groupmock
rm -rf "$folder" && mkdir -p "$folder"
"$GROUPMOCK_PYTHON" -m venv "$folder/venv"
# The checkout of this action is groupmock's sources at the ref that the workflow names.
here=$(cd "$GITHUB_ACTION_PATH/../.." && pwd)
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "${GROUPMOCK_PACKAGE:-$here[control]}"
