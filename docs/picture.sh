#!/usr/bin/env bash
# Makes the picture of the README: the first screen of a shipped scenario's report, in headless Chromium.
#   docs/picture.sh [FILE.png]     by default docs/picture.png
# REHEARSE names the program (default: ./rehearse); WIDTH,HEIGHT of the screen in SCREEN (default: 1120,1340). Exit status 77:
# there is no Chromium here, or the program was built without the report.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
picture=$(realpath -m "${1:-$root/docs/picture.png}")
program=${REHEARSE:-$root/rehearse}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for browser in chromium chromium-browser google-chrome; do command -v "$browser" >/dev/null && break; done
command -v "$browser" >/dev/null || { echo "picture: there is no Chromium (apt-get install chromium)" >&2; exit 77; }
"$program" run "$root/scenarios/quickstart.json" --certify --out "$scratch/results" >/dev/null 2>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
[[ -s $scratch/results/report.html ]] || { echo "picture: the run left no report" >&2; exit 77; }
"$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-color-profile=srgb --user-data-dir="$scratch/profile" \
  --window-size="${SCREEN:-1120,1340}" --virtual-time-budget=10000 --screenshot="$scratch/picture.png" \
  "file://$scratch/results/report.html" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
[[ -s $scratch/picture.png ]] || { echo "picture: Chromium drew nothing" >&2; exit 1; }
mv "$scratch/picture.png" "$picture"
