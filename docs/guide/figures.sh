#!/usr/bin/env bash
# Makes the figures of docs/guide/figures.md from scenarios that ship: docs/guide/figures.sh [FOLDER], by default docs/guide/figures. It needs gnuplot.
# REHEARSE names the program (default: ./rehearse).
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
program=${REHEARSE:-./rehearse}
out=${1:-docs/guide/figures}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mkdir -p "$out"

run() { "$program" run "scenarios/$1.json" --out "$results/$(basename "$1")" "${@:2}" >/dev/null; }
plot() { "$program" plot "$1" "$results/$2" -o "$out/$1.svg" "${@:3}"; }

run side-by-side --set /jobs/0/count=60
"$program" run scenarios/side-by-side.json --set /jobs/0/count=20 --out "$results/twenty" >/dev/null
run cluster/priority
run configure/frontier
run configure/learning-curve --set /jobs/0/count=40 --set '/study/runs=[5,10,20,50,100]' --set '/study/model_errors=[0.1]'
run threads/threads-paper --set /repetitions=1
run configure/characterise

"$program" sweep docs/guide/figures/start-up.json --out "$results/start-up.sqlite" >/dev/null

plot line start-up.sqlite --x /switching/start_s
plot heat start-up.sqlite --where policy=static-isotonic-shared
plot bars twenty
"$program" plot bars "$results/twenty" -o "$out/speed-up.svg" --relative-to manual
plot tradeoff twenty
plot choices twenty
plot queue priority --size two-column
plot savings side-by-side
plot cdf side-by-side
plot deadlines frontier --where job=rnn
plot gantt priority --where policy=priority
plot utilization side-by-side --where policy=static-isotonic-shared --size two-column
plot learning learning-curve
plot threads threads-paper --where machine=knl --where model=resnet34
plot pareto frontier --where job=rnn
plot speedup characterise --where job=rnn
plot errors side-by-side --where repetition=0
