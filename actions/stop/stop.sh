#!/usr/bin/env bash
# Tells the story of every group where the job failed, and ends groupmock. A server that is gone by itself is told, too.
set -eu -o pipefail
readonly PATIENCE=20
folder=$RUNNER_TEMP/groupmock
if ! [ -f "$folder/pid" ]; then
  echo "::warning title=groupmock::nothing to stop: no step of this job used the action \`start\`"
  exit 0
fi
pid=$(cat "$folder/pid")

if [ "$GROUPMOCK_JOB" != success ]; then
  echo "::group::groupmock: what its groups did"
  "$folder/venv/bin/python" "$GITHUB_ACTION_PATH/stories.py" || cat "$folder/log"
  echo "::endgroup::"
fi
echo "journal=$folder/journal.jsonl" >>"$GITHUB_OUTPUT"

if ! kill -TERM "$pid" 2>/dev/null; then
  cat "$folder/log"
  echo "::error title=groupmock::it ended before it was told to: $(tail -n 1 "$folder/log")"
  exit 1
fi
for ((tenth = 0; tenth < PATIENCE * 10; tenth++)); do
  kill -0 "$pid" 2>/dev/null || exit 0
  sleep 0.1
done
kill -KILL "$pid"
echo "::error title=groupmock::it did not end within $PATIENCE s"
exit 1
