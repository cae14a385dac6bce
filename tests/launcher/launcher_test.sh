#!/usr/bin/env bash
# The launcher against stand-ins for cmake, ninja, dpkg-query, apt-get and id: what it asks of them, and what it leaves alone.
# Usage: launcher_test.sh PATH_OF_THE_LAUNCHER
set -uo pipefail
launcher=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checkout="$scratch/a checkout"
mkdir -p "$checkout/cli" "$scratch/bin" "$scratch/elsewhere"
cp "$launcher" "$checkout/rehearse"
echo '{}' >"$checkout/CMakePresets.json"
touch -d '1 hour ago' "$checkout/CMakePresets.json"
export log="$scratch/log" scratch checkout
export PATH="$scratch/bin:$PATH"
unset CI

stand_in() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$scratch/bin/$1"; chmod +x "$scratch/bin/$1"; }
# shellcheck disable=SC2016  # the stand-ins expand these
{
  stand_in cmake 'echo "cmake $*" >>"$log"; tests=OFF folder=release
    [[ $* == *"--preset test"* ]] && tests=ON
    [[ $* == *"--preset sanitize"* ]] && tests=ON folder=sanitize
    mkdir -p "build/$folder/cli"; echo rules >"build/$folder/build.ninja"
    printf "//\nCMAKE_HOME_DIRECTORY:INTERNAL=%s\nREHEARSE_TESTS:BOOL=%s\n//\n" "$PWD" "$tests" >"build/$folder/CMakeCache.txt"'
  stand_in ninja 'echo ninja "${@:3}" >>"$log"
    if [[ -e $scratch/broken ]]; then echo "FAILED: x.o"; echo "x.cpp:1: error: expected"; exit 1; fi
    if [[ -e $scratch/slow ]]; then [[ -e $scratch/building ]] && echo overlap >>"$log"; touch "$scratch/building"; sleep 0.2; rm "$scratch/building"; fi
    echo "ninja: Entering directory $2"
    if [[ -e $scratch/large ]]; then
      echo "[0/1] Re-running CMake..."; echo "-- Configuring done"
      for i in {1..40}; do
        echo "[$i/40] Building CXX object x$i.o"
        if ((i == 7)); then echo "x7.cpp:3:1: warning: unused x [-Wunused]"; echo "    3 | int x;"; fi
      done
    fi
    echo "ninja: no work to do."
    printf "%s\n" "#!/bin/bash" "pwd; printf \"<%s>\" \"\$@\"; exit 7" >"$2/cli/rehearse"; chmod +x "$2/cli/rehearse"'
  stand_in ctest 'echo "ctest $*" >>"$log"; [[ ! -e $scratch/failing ]] || exit 8'
  stand_in dpkg-query 'for p in "${@:4}"; do [[ -e $scratch/without-$p ]] || printf "%s=installed " "$p"; done'
  stand_in apt-get 'echo "apt-get $*" >>"$log"; rm -f "$scratch"/without-*'
  stand_in id 'cat "$scratch/uid"'
  stand_in ccache 'true'
}
echo 0 >"$scratch/uid"

failures=0
# expect WHAT EXPECTED FOUND
expect() {
  [[ $2 == "$3" ]] && return
  printf 'FAILED: %s\n  expected: %s\n  found:    %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
# start ARGUMENT...: one start in another folder; sets out, err, status and the log's lines.
start() {
  : >"$log"
  out=$(cd "$scratch/elsewhere" && "$checkout/rehearse" "$@" 2>"$scratch/err")
  status=$?
  err=$(<"$scratch/err")
  asked=$(<"$log")
}

start run 'my scenario.json' ''
expect 'first start configures, then builds one target' \
  $'cmake --fresh --preset release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache\nninja rehearse' "$asked"
expect 'the folder and every argument are kept' "$scratch/elsewhere"$'\n<run><my scenario.json><>' "$out"
expect 'the status is the program'\''s' 7 "$status"

start list models
expect 'a second start only asks ninja' 'ninja rehearse' "$asked"
expect 'and says nothing itself' '' "$err"

ln -s "$checkout/rehearse" "$scratch/link"
: >"$log"
out=$(cd "$scratch/elsewhere" && ../link x)
expect 'a symlink leads to the same checkout' "$scratch/elsewhere"$'\n<x>' "$out"
expect 'which is built already' 'ninja rehearse' "$(<"$log")"

touch "$scratch/broken"
start run x
expect 'a failed build ends with 1' 1 "$status"
expect 'nothing stale is run' '' "$out"
expect 'and the compiler is heard' $'FAILED: x.o\nx.cpp:1: error: expected\nrehearse: the build failed' "$err"
rm "$scratch/broken"

touch "$scratch/large"
start list models
expect 'a long build says each tenth, and all that the compiler says' 'rehearse: building, 10 % (4 of 40)
x7.cpp:3:1: warning: unused x [-Wunused]
    3 | int x;
rehearse: building, 20 % (8 of 40)
rehearse: building, 30 % (12 of 40)
rehearse: building, 40 % (16 of 40)
rehearse: building, 50 % (20 of 40)
rehearse: building, 60 % (24 of 40)
rehearse: building, 70 % (28 of 40)
rehearse: building, 80 % (32 of 40)
rehearse: building, 90 % (36 of 40)
rehearse: building, 100 % (40 of 40)' "$err"
if command -v script >/dev/null; then
  printf '#!/usr/bin/env bash\nexec "%s" list models >/dev/null\n' "$checkout/rehearse" >"$scratch/bin/on-a-terminal"
  chmod +x "$scratch/bin/on-a-terminal"
  shown=$(script -qec on-a-terminal /dev/null </dev/null | tr -d '\r' | sed 's/\x1b\[K/\n/g')
  expect 'on a terminal one line is overwritten' 'rehearse: building, 0 % (0 of 1)' "$(sed -n 2p <<<"$shown")"
  expect 'up to the end' 'rehearse: building, 100 % (40 of 40)' "$(grep building <<<"$shown" | tail -1)"
  expect 'for every step' 41 "$(grep -c building <<<"$shown")"
  expect 'what the compiler says has lines of its own' $'x7.cpp:3:1: warning: unused x [-Wunused]\n    3 | int x;' \
    "$(grep -x -e 'x7.*' -e ' *3 | .*' <<<"$shown")"
fi
rm "$scratch/large"
# 160 of 470 in 120 s: the 310 that are left take 120 * 310 / 160 = 232 s, about 4 minutes.
eval "$(sed -n '/^progress_text()/,/^}/p' "$launcher")"
expect 'how long a build will take' 'building, 34 % (160 of 470), about 4 min left' "$(progress_text 160 470 120)"
expect 'in seconds at the end' 'building, 95 % (450 of 470), about 14 s left' "$(progress_text 450 470 321)"
expect 'unknown at the beginning' 'building, 0 % (1 of 470)' "$(progress_text 1 470 4)"

touch "$scratch/without-libfmt-dev" "$scratch/without-catch2"
echo 1000 >"$scratch/uid"
start run x
expect 'without root: nothing is installed or built' '' "$asked"
expect 'status 2' 2 "$status"
expect 'the command to run, without the test set' '  apt-get update && apt-get install -y --no-install-recommends libfmt-dev' "${err##*rehearse: }"
echo 0 >"$scratch/uid"
start run x
expect 'as root: update, install, build' \
  $'apt-get update\napt-get install -y --no-install-recommends libfmt-dev\nninja rehearse' "$asked"

touch "$scratch/without-catch2"
start test -R zoo
expect 'test adds the test set and configures anew' \
  "apt-get update
apt-get install -y --no-install-recommends catch2
cmake --fresh --preset test -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
ninja
ctest --test-dir $checkout/build/release -j $(nproc) --output-on-failure --no-tests=error -R zoo" "$asked"
start run x
expect 'run is content with the tests'\'' configuration' 'ninja rehearse' "$asked"
CI=true start test --sanitize
expect 'sanitizer tests: own folder, no slow ones, in CI warnings are errors, numbers are tested and tests compiled once' \
  "cmake --fresh --preset sanitize -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DREHEARSE_WERROR=ON -DREHEARSE_SANITIZE_NUMBERS=OFF -DREHEARSE_TEST_OBJECTS=$checkout/build/release
ninja
ctest --test-dir $checkout/build/sanitize -j $(nproc) --output-on-failure --no-tests=error -LE ^slow\$" "$asked"
touch "$scratch/failing"
start test
expect 'a failed test ends with 1' 1 "$status"

touch -d '1 hour' "$checkout/CMakePresets.json"
start run x
expect 'changed presets configure anew' cmake "${asked%% *}"
touch -d '1 hour ago' "$checkout/CMakePresets.json"
mv "$checkout" "$scratch/moved"
checkout="$scratch/moved"
start run x
expect 'a moved checkout configures anew' cmake "${asked%% *}"

touch "$scratch/slow"
: >"$log"
for i in 1 2 3; do "$checkout/rehearse" "$i" >/dev/null 2>&1 & done
wait
expect 'three starts at once build one after the other' $'ninja rehearse\nninja rehearse\nninja rehearse' "$(<"$log")"

((failures == 0)) && echo 'launcher: all as expected'
exit $((failures > 0))
