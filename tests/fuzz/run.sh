#!/usr/bin/env bash
# Fuzzes the readers of job traces, each for SECONDS (default 2) from tests/fuzz/corpus and the inputs that FOLDER (if given) has
# from earlier times and gets now. Needs Clang; ends at the first input that breaks one, which it leaves in build/fuzz.
#   tests/fuzz/run.sh [SECONDS [FOLDER]]
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
seconds=${1:-2}
found=$(realpath -m "${2:-$root/build/fuzz/found}")

cd "$root"
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz

# One compressed kilobyte is a thousand plain ones: memory is what a reader may not waste on it.
fuzz() {
  local format=${1##*/fuzz_} log
  log=$root/build/fuzz/$format.log
  mkdir -p "$3/$format"
  if ! "$1" -max_total_time="$2" -max_len=4096 -timeout=10 -rss_limit_mb=512 -seed=1 -dict=tests/fuzz/traces.dict \
    -artifact_prefix="build/fuzz/$format-" "$3/$format" "tests/fuzz/corpus/${format/flow-elastic/flow-rigid}" 2>"$log"; then
    tail -n 40 "$log"
    return 1
  fi
  printf '%s: %s\n' "$format" "$(grep '^Done' "$log")"
}
export -f fuzz
export root
printf '%s\n' build/fuzz/tests/fuzz/fuzz_*[!.]* | xargs -P "$(nproc)" -I PROGRAM bash -c 'fuzz PROGRAM '"$seconds '$found'"
