#!/usr/bin/env bash
# Copies the data set to this machine's own disk, once, however many processes ask for it. Environment: DATA_SOURCE, the folder to
# copy from; DATA, the folder to copy to.
set -euo pipefail

dataset={{dataset}}
stored_bytes={{stored_bytes}}
source=${DATA_SOURCE:-/data/{{folder}}}
data=${DATA:-/local/{{folder}}}

mkdir -p "$data"
exec 9>"$data/.lock"
flock 9 # the first to come copies, the others wait
if [[ -e $data/.complete ]]; then
  printf 'preload: %s is there already\n' "$dataset"
  exit 0
fi
if [[ ! -d $source ]]; then
  printf 'preload: there is no folder %s: set DATA_SOURCE to where %s is\n' "$source" "$dataset" >&2
  exit 1
fi
needed=$(du -s --block-size=1 "$source" | cut -f 1)
free=$(df --output=avail --block-size=1 "$data" | tail -n 1)
if ((needed > free)); then
  printf 'preload: %s has %d bytes free, %s takes %d\n' "$data" "$free" "$dataset" "$needed" >&2
  exit 1
fi
if ((needed < stored_bytes / 2)); then
  printf 'preload: %s has %d bytes, the plan reckoned with %d\n' "$source" "$needed" "$stored_bytes" >&2
fi
cp -R -- "$source/." "$data/"
touch "$data/.complete"
printf 'preload: copied %s, %d bytes\n' "$dataset" "$needed"
