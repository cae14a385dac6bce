#!/usr/bin/env bash
# Follows the Dockerfile by hand where no container engine runs: each stage in a Debian 12 made by debootstrap, as root.
#   tests/package/container.sh [FOLDER]     FOLDER (default: a temporary one) takes about 4 GB
# Exit status 77: it cannot be tried here.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
skip() { printf 'container: skipped, %s\n' "$*" >&2; exit 77; }
[[ $(id -u) == 0 ]] || skip 'needs root'
command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap >/dev/null 2>&1 || skip 'no debootstrap'
# The stages see this machine's file system only through their own, and their mounts end with this process.
if [[ -z ${REHEARSE_IN_NAMESPACE:-} ]]; then
  unshare --mount true 2>/dev/null || skip 'no mount namespaces'
  REHEARSE_IN_NAMESPACE=1 exec unshare --mount --pid --fork "$0" "$@"
fi
work=${1:-$(mktemp -d)}
mkdir -p "$work"
[[ -n ${1:-} ]] || trap 'rm -rf --one-file-system "$work"' EXIT

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Suite: *stable*' 2>/dev/null | head -1)
[[ -n $mirror ]] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -1)
[[ -d $work/base ]] || debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" "$mirror" >"$work/debootstrap.log" 2>&1 ||
  skip "debootstrap failed: $(tail -1 "$work/debootstrap.log")"
cp -r /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d "$work/base/etc/apt/" 2>/dev/null || true
cp /etc/resolv.conf "$work/base/etc/resolv.conf" 2>/dev/null || true

stage= folder=/ entry=() arguments=()
inside() { chroot "$work/$stage" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
  DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"; }
begin() {
  stage=$1 folder=/
  rm -rf --one-file-system "${work:?}/$stage"
  cp -a "$work/base" "$work/$stage"
  mount -t proc proc "$work/$stage/proc"
  mount --rbind /dev "$work/$stage/dev"
}
words() { python3 -c 'import json, sys; print("\n".join(json.loads(sys.argv[1])))' "$1"; }
while read -r instruction rest; do
  case $instruction in
    '' | '#'*) ;;
    FROM) if [[ $rest == *' AS '* ]]; then begin "${rest##* }"; else begin final; fi ;;
    WORKDIR) folder=$rest; mkdir -p "$work/$stage$folder" ;;
    COPY)
      if [[ $rest == --from=* ]]; then
        read -r from source target <<<"$rest"
        cp -a "$work/${from#--from=}$source" "$work/$stage$target"
      else
        read -r source target <<<"$rest"
        mkdir -p "$work/$stage$target"
        (cd "$root/$source" && git ls-files -z | xargs -0 cp --parents -at "$work/$stage$target")
      fi ;;
    RUN) inside sh -ec "cd $folder && $rest" ;;
    ENTRYPOINT) mapfile -t entry < <(words "$rest") ;;
    CMD) mapfile -t arguments < <(words "$rest") ;;
    *) printf 'container: %s is not followed here\n' "$instruction" >&2; exit 1 ;;
  esac
done <"$root/Dockerfile"

inside "${entry[@]}" "${arguments[@]}" >/dev/null
cp "$root/scenarios/quickstart.json" "$work/final$folder/mine.json"
inside sh -ec "cd $folder && ${entry[*]} run mine.json --out results >/dev/null"
[[ -s $work/final$folder/results/summary.json ]]
printf 'the image runs a scenario\n'
