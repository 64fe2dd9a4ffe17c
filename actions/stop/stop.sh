#!/usr/bin/env bash
# Ends groupmock, and tells the story of every group where the job failed. A server that is gone by itself is told, too.
set -eu -o pipefail
readonly PATIENCE=20
folder=$RUNNER_TEMP/groupmock
journal=$folder/journal.jsonl
if ! [ -f "$folder/pid" ]; then
  echo "::warning title=groupmock::nothing to stop: no step of this job used the action \`start\`"
  exit 0
fi
pid=$(cat "$folder/pid")
rm "$folder/pid"

wrong=
if kill -TERM "$pid" 2>/dev/null; then
  for ((tenth = 0; tenth < PATIENCE * 10; tenth++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  if kill -KILL "$pid" 2>/dev/null; then wrong="it did not end within $PATIENCE s"; fi
else
  wrong="it ended before it was told to: $(tail -n 1 "$folder/log")"
fi
echo "journal=$journal" >>"$GITHUB_OUTPUT"

if [ "$GROUPMOCK_JOB" != success ] || [ -n "$wrong" ]; then
  # Names come from clients: the runner is told to take no line of this for a command.
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::group::groupmock: what its groups did"
  echo "::stop-commands::$token"
  "$folder/venv/bin/groupmock" story "$journal" || cat "$folder/log"
  echo "::$token::"
  echo "::endgroup::"
fi
if [ -n "$wrong" ]; then
  echo "::error title=groupmock::$wrong"
  exit 1
fi
