#!/usr/bin/env bash
# Makes philly-week.csv, the jobs of philly-week.json: a week drawn from the arrivals, sizes and durations of Microsoft's Philly
# clusters (docs/guide/traces.md), in whole seconds. Needs the trace, in the folder that REHEARSE_DATA names.
#   scenarios/cluster/philly-week.sh [FILE.csv]     by default philly-week.csv beside this script
# REHEARSE names the program (default: ./rehearse). Exit status 77: there is no trace.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
trace=${REHEARSE_DATA:-}/pollux_osdi21/traces/philly.csv.gz
[[ -r $trace ]] || { echo "philly-week: skipped, REHEARSE_DATA names no folder with pollux_osdi21/traces/philly.csv.gz" >&2; exit 77; }
"${REHEARSE:-$here/../../rehearse}" synthesize "$trace" --format philly --count 5280 --seed 1 -o - 2>/dev/null |
  awk -F, 'NR == 1 { print; next } { printf "week-%d,%d,%d,%d\n", NR - 1, $2, $3, $4 + 1 }' >"${1:-$here/philly-week.csv}"
