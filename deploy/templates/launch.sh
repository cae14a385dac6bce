#!/usr/bin/env bash
# launch.sh COMMAND...: runs a training. When it is told to end (TERM), the training saves a checkpoint first: OUT/stop asks it to.
# Exit status 75: it was stopped and can go on from there.
set -euo pipefail

out=${OUT:-out}
mkdir -p "$out"
rm -f "$out/stop"
trap 'touch "$out/stop"' TERM INT

"$@" &
training=$!
status=0
wait "$training" || status=$?
while kill -0 "$training" 2>/dev/null; do # a signal ended the wait, not the training
  status=0
  wait "$training" || status=$?
done
if [[ -e $out/stop && $status == 0 ]]; then exit 75; fi
exit "$status"
