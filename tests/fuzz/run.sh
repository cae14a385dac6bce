#!/usr/bin/env bash
# Fuzzes the readers of job traces and of networks (needs Clang), then mutated scenarios, generated ones and command lines side by side, each kind for so
# many minutes from a fixed seed.
#   tests/fuzz/run.sh --minutes N [OPTIONS]
#   tests/fuzz/run.sh [SECONDS [FOLDER]]     the readers alone, each of the formats for SECONDS (default 2)
# Options:
#   --only readers|scenarios|mutated|generated|commands  one kind; scenarios: mutated and generated ones
#   --seed N                                 default 1; runs of other seeds look elsewhere
#   --count N                                at most N scenarios of a kind, or N inputs of each format of traces and 50 N of each format of
#                                            networks, which are faster: the same ones on every machine that has the time
#   --ledger FILE                            gets a line of each kind (tests/fuzz/ledger.py sum adds them up)
#   --folder FOLDER                          inputs that the fuzzers have found, from earlier times and now (default build/fuzz/found)
#   --program FILE, --server FILE            the program (default build/release/cli/rehearse), and scenario_server, best both built with
#                                            the sanitizers (default: that of build/sanitize, else of build/release, if it is there)
# An input that breaks a reader is left in build/fuzz and ends the run; scenarios that break the program are minimised and left in
# build/fuzz/findings. Status 1 when anything was found. Mended ones go into tests/fuzz/corpus and tests/fuzz/cases.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
cd "$root"
minutes='' seconds=2 only='' seed=1 count='' ledger='' found=build/fuzz/found program=build/release/cli/rehearse server=''
for candidate in build/release/tests/scenario_server build/sanitize/tests/scenario_server; do
  if [[ -x $candidate ]]; then server=$candidate; fi
done
if [[ ${1:-} == [0-9]* ]]; then
  seconds=$1 found=${2:-$found} only=readers
  set --
fi
while (($#)); do
  case $1 in
    --minutes) minutes=$2 ;;
    --only) only=$2 ;;
    --seed) seed=$2 ;;
    --count) count=$2 ;;
    --ledger) ledger=$2 ;;
    --folder) found=$2 ;;
    --program) program=$2 ;;
    --server) server=$2 ;;
    *) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift 2
done
found=$(realpath -m "$found")

has_clang() {
  local made
  made=$(mktemp)
  printf 'int main() {}' | clang++ -fsanitize=address -x c++ -o "$made" - 2>/dev/null && rm "$made"
}

# One compressed kilobyte is a thousand plain ones: memory is what a reader may not waste on it.
fuzz() {
  local format=${1##*/fuzz_} log runs=${5:--1}
  if ((runs > 0)) && [[ $format =~ ^(keras|layers|onnx|torch)$ ]]; then runs=$((50 * runs)); fi
  log=$root/build/fuzz/$format.log
  mkdir -p "$3/$format"
  if ! "$1" -max_total_time="$2" -runs="$runs" -max_len=4096 -timeout=60 -rss_limit_mb=512 -seed="$4" -dict=tests/fuzz/traces.dict \
    -artifact_prefix="build/fuzz/$format-" "$3/$format" "tests/fuzz/corpus/${format/flow-elastic/flow-rigid}" 2>"$log"; then
    tail -n 40 "$log"
    return 1
  fi
  printf '%s: %s\n' "$format" "$(grep '^Done' "$log")"
}
export -f fuzz
export root

# The minutes are those of all formats together: each gets its part, side by side on all processors.
fuzz_readers() {
  if ! has_clang; then
    printf 'no Clang with sanitizers: the readers are not fuzzed\n'
    return
  fi
  cmake --preset fuzz >/dev/null
  cmake --build --preset fuzz
  local programs=(build/fuzz/tests/fuzz/fuzz_*[!.]*)
  if [[ $minutes ]]; then
    seconds=$(awk -v m="$minutes" -v n="${#programs[@]}" -v p="$(nproc)" 'BEGIN { s = int(60 * m * p / n); print s < 1 ? 1 : s }')
  fi
  local began status=0
  began=$(date -u +%FT%TZ)
  rm -f build/fuzz/*.log
  TIMEFORMAT='%U %S'  # what the fuzzers use of the processors; they themselves write to logs
  { time printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -I PROGRAM bash -c 'fuzz PROGRAM '"$seconds '$found' $seed $count"; } 2>build/fuzz/time || status=1
  if [[ $ledger ]]; then
    python3 -B tests/fuzz/ledger.py add "$ledger" --kind readers --began "$began" --seeds "$seed" "$seed" \
      --cpu-s "$(awk 'END { print $1 + $2 }' build/fuzz/time)" --findings "$(grep -L '^Done' build/fuzz/*.log | wc -l)" \
      --scenarios "$(awk '/^Done/ { n += $2 } END { print n + 0 }' build/fuzz/*.log)"
  fi
  return $status
}

fuzz_scenarios() {
  exec python3 -B tests/fuzz/campaign.py "$1" --minutes "${minutes:-1}" --seed "$seed" --program "$program" ${server:+--server "$server"} ${count:+--count "$count"} ${ledger:+--ledger "$ledger"}
}

if [[ ! $only || $only == readers ]]; then fuzz_readers; fi
# A campaign keeps one processor busy: they run at once, and what each says comes whole.
said=$(mktemp -d)
declare -A campaign
trap 'kill "${campaign[@]}" 2>/dev/null || true; wait; rm -rf "$said"' EXIT
for kind in mutated generated commands; do
  if [[ $only && $only != "$kind" && ! ($only == scenarios && $kind != commands) ]]; then continue; fi
  fuzz_scenarios "$kind" >"$said/$kind" 2>&1 &
  campaign[$kind]=$!
done
status=0
for kind in "${!campaign[@]}"; do
  wait "${campaign[$kind]}" || status=$?
  unset "campaign[$kind]"
  cat "$said/$kind"
done
exit "$status"
