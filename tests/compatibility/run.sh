#!/usr/bin/env bash
# Files as earlier versions had them must still run, or `check` must say what has changed: run.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for version in "$here"/*/; do
  for scenario in "$version"*scenario.json; do
    name=$(basename "$version")-$(basename "$scenario" .json)
    "$program" check "$scenario"
    "$program" run "$scenario" --out "$out/$name" >/dev/null
    [[ -s $out/$name/summary.json ]]
  done
  "$program" sweep "$version/sweep.json" --out "$out/$(basename "$version").sqlite" >/dev/null
done
printf 'all of these files still run\n'
