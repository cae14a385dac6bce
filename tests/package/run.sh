#!/usr/bin/env bash
# Installs a built Rehearse and its Debian packages into empty folders and uses them there, away from the checkout.
#   tests/package/run.sh BUILD     for instance build/release
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
build=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { printf 'package: %s\n' "$*" >&2; exit 1; }

# used PROGRAM SCENARIO: in an empty folder, with nothing in the environment but the path.
used() {
  mkdir "$scratch/elsewhere"
  (cd "$scratch/elsewhere" && env -i PATH="$PATH" "$1" run "$2" --out results >run.txt) || fail "$1 does not run"
  [[ -s $scratch/elsewhere/results/summary.json ]] || fail "$1 left no summary"
  rm -r "$scratch/elsewhere"
}

cmake --install "$build" --prefix "$scratch/usr" >/dev/null
used "$scratch/usr/bin/rehearse" "$scratch/usr/share/rehearse/scenarios/quickstart.json"
used "$scratch/usr/bin/rehearse" "$scratch/usr/share/rehearse/scenarios/cluster/priority.json"  # with its trace

# The program of docs/guide/embedding.md, outside the tree, by the CMake package alone.
cp -r "$root/docs/guide/embedding" "$scratch/embedding"
cmake -S "$scratch/embedding" -B "$scratch/embedding/build" -DCMAKE_PREFIX_PATH="$scratch/usr" >/dev/null
cmake --build "$scratch/embedding/build" >/dev/null
mine=$("$scratch/embedding/build/smallest_first")
[[ $mine == "smallest-first"*"of 300 jobs" ]] || fail "the embedding program prints: $mine"

# dpkg itself installs, into a folder tree that holds nothing but its empty database; dependencies are those of this machine.
(cd "$build" && cpack -G DEB -B "$scratch/packages" >/dev/null)
tree=$scratch/tree
mkdir -p "$tree/var/lib/dpkg/"{info,updates}
touch "$tree/var/lib/dpkg/"{status,available}
dpkg --root="$tree" --force-depends --install "$scratch/packages/"*.deb >/dev/null 2>"$scratch/dpkg.log" || fail "$(<"$scratch/dpkg.log")"
used "$tree/usr/bin/rehearse" "$tree/usr/share/rehearse/scenarios/quickstart.json"
missing=$(dpkg-query --admindir="$tree/var/lib/dpkg" -W -f '${Depends}, ' rehearse librehearse-dev | tr ',' '\n' |
  sed 's/([^)]*)//; s/ //g; /^$/d; /^rehearse$/d' | while read -r package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
  done)
[[ -z $missing ]] || fail "the packages depend on what this machine built without: $missing"
printf 'installed, embedded and packaged: all three run\n'
