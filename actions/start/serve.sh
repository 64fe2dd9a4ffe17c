#!/usr/bin/env bash
# Starts groupmock beside the job, waits for its ready line, and tells later steps the addresses.
set -eu -o pipefail
readonly PATIENCE=60
folder=$RUNNER_TEMP/groupmock
journal=$folder/journal.jsonl

words=(serve --port "$GROUPMOCK_PORT" --control 0 --journal "$journal")
for topic in $GROUPMOCK_TOPICS; do words+=(--topic "$topic"); done
# As a shell reads them, and nothing is run: quotes hold words together, $ and ` are only letters.
while IFS= read -r -d '' word; do words+=("$word"); done < <(
  "$folder/venv/bin/python" -c 'import os, shlex, sys; sys.stdout.write("".join(each + "\0" for each in shlex.split(os.environ["GROUPMOCK_OPTIONS"])))'
)
unset GROUPMOCK_PORT GROUPMOCK_TOPICS GROUPMOCK_OPTIONS
"$folder/venv/bin/groupmock" "${words[@]}" >"$folder/ready" 2>"$folder/log" </dev/null &
echo $! >"$folder/pid"

for ((tenth = 0; tenth < PATIENCE * 10; tenth++)); do
  if [ -s "$folder/ready" ] || ! kill -0 "$(cat "$folder/pid")" 2>/dev/null; then break; fi
  sleep 0.1
done
if ! [ -s "$folder/ready" ]; then
  cat "$folder/log"
  echo "::error title=groupmock::it did not start: $(tail -n 1 "$folder/log")"
  kill "$(cat "$folder/pid")" 2>/dev/null || true
  exit 1
fi

told() { "$folder/venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$folder/ready" "$1"; }
bootstrap=$(told bootstrap) control=$(told control)
printf '%s\n' "bootstrap=$bootstrap" "control=$control" "journal=$journal" >>"$GITHUB_OUTPUT"
for name in GROUPMOCK_BOOTSTRAP KAFKA_BOOTSTRAP KAFKA_BOOTSTRAP_SERVERS; do echo "$name=$bootstrap" >>"$GITHUB_ENV"; done
echo "GROUPMOCK_CONTROL_URL=$control" >>"$GITHUB_ENV"
echo "groupmock answers at $bootstrap, its control API at $control"
