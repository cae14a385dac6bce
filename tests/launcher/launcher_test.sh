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
unset CI CXX CMAKE_BUILD_PARALLEL_LEVEL

stand_in() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$scratch/bin/$1"; chmod +x "$scratch/bin/$1"; }
# shellcheck disable=SC2016  # the stand-ins expand these
{
  stand_in cmake 'echo "cmake $*" >>"$log"; tests=OFF folder=release
    [[ $* == *"--preset test"* ]] && tests=ON
    [[ $* == *"--preset sanitize"* ]] && tests=ON folder=sanitize
    mkdir -p "build/$folder/cli"; echo rules >"build/$folder/build.ninja"
    printf "//\nCMAKE_CXX_COMPILER:FILEPATH=%s\nCMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_HOME_DIRECTORY:INTERNAL=%s\nREHEARSE_TESTS:BOOL=%s\n//\n" \
      "$scratch/bin/${CXX:-c++}" "$PWD" "$tests" >"build/$folder/CMakeCache.txt"'
  stand_in ninja 'if [[ $* == *" -n "* ]]; then
      echo "ninja -n" >>"$log"
      [[ -e $scratch/changed ]] && echo "[1/2] Building CXX object x.o" || echo "ninja: no work to do."
      exit
    fi
    echo ninja "${@:3}" >>"$log"
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
  stand_in c++ 'true'
  stand_in other-c++ 'true'
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
expect 'test adds the test set and configures in place, which keeps what is compiled' \
  "apt-get update
apt-get install -y --no-install-recommends catch2
cmake --preset test
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
expect 'changed presets configure in place' 'cmake --preset release' "${asked%%$'\n'*}"
touch -d '1 hour ago' "$checkout/CMakePresets.json"
mv "$checkout" "$scratch/moved"
checkout="$scratch/moved"
start run x
expect 'a moved checkout configures afresh' 'cmake --fresh --preset release' "${asked%% -D*}"
CXX=other-c++ start run x
expect 'so does another compiler' 'cmake --fresh --preset release' "${asked%% -D*}"
CXX=other-c++ start run x
expect 'once' 'ninja rehearse' "$asked"
rm "$scratch/bin/other-c++"
start run x
expect 'and one that is gone' 'cmake --fresh --preset release' "${asked%% -D*}"
CMAKE_BUILD_PARALLEL_LEVEL=3 start run x
expect 'as many compilers at once as CMake is asked for' 'ninja -j 3 rehearse' "$asked"

touch "$scratch/slow" "$scratch/changed"
: >"$log"
for i in 1 2 3; do "$checkout/rehearse" "$i" >/dev/null 2>&1 & done
wait
expect 'three starts at once build one after the other' $'ninja rehearse\nninja rehearse\nninja rehearse' "$(grep -vx 'ninja -n' "$log")"

# While another start builds, the program that is built is used; if its sources have changed, it says what it waits for.
rm "$scratch/slow" "$scratch/changed"
start run x
exec 8<"$checkout/build"
flock 8
echo './rehearse test (process 12)' >"$checkout/build/.holder"
start run x
expect 'while tests are building, the built program runs' 7 "$status"
expect 'after Ninja was asked' 'ninja -n' "$asked"
expect 'and nothing is said' '' "$err"
touch "$scratch/changed"
{ sleep 0.5; exec 8<&-; } &
exec 8<&-
start run x
wait
expect 'what it waits for' \
  'rehearse: waiting for ./rehearse test (process 12) to finish building: this program is not built of the sources as they are' "$err"
expect 'then it builds' $'ninja -n\nninja rehearse' "$asked"
rm "$scratch/changed"

# With the real tools, on the headers that are compiled for all units and one unit of each kind: run, then test compiles nothing twice.
rm "$scratch/bin/"{cmake,ninja,ctest,c++,ccache}
if command -v cmake ninja c++ >/dev/null; then
  real="$scratch/real"
  source=$(dirname "$launcher")
  mkdir -p "$real/cli"
  cp -r "$launcher" "$source/cmake" "$source/CMakePresets.json" "$real"
  echo 'int main() {}' | tee "$real/cli/main.cpp" >"$real/test.cpp"
  cat >"$real/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
find_package(fmt REQUIRED)
include(cmake/options.cmake)
include(cmake/headers.cmake)
add_executable(rehearse cli/main.cpp)
target_link_libraries(rehearse PRIVATE rehearse_options fmt::fmt)
set_target_properties(rehearse PROPERTIES RUNTIME_OUTPUT_DIRECTORY cli)
rehearse_compile_quickly(rehearse)
option(REHEARSE_TESTS "" OFF)
enable_testing()
if(REHEARSE_TESTS)
  add_executable(small_test test.cpp)
  target_link_libraries(small_test PRIVATE rehearse_options fmt::fmt)
  rehearse_compile_quickly(small_test)
  add_test(NAME small COMMAND small_test)
endif()
CMAKE
  "$real/rehearse" run >"$scratch/out" 2>&1
  expect 'a small program is built and run' 0 $?
  "$real/rehearse" test >"$scratch/out" 2>&1
  expect 'then its tests' 0 $?
  units=$(awk -F'\t' '$4 ~ /\.(o|gch)$/ { print $4 }' "$real/build/release/.ninja_log" | sort)
  expect 'of the headers, the program and its test' 6 "$(wc -l <<<"$units")"
  expect 'no unit is compiled twice' '' "$(uniq -d <<<"$units")"
fi

((failures == 0)) && echo 'launcher: all as expected'
exit $((failures > 0))
