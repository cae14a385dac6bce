#!/usr/bin/env bash
# A sweep of 200 runs in 20 tasks on a private Slurm of three nodes on this machine. Meanwhile one task is killed, and one node
# goes down with what runs on it. At the end every row is there once, and all are those of the sweep on this machine alone.
# Usage: run.sh PROGRAM. As root, with slurm-wlm and munge (Debian 12's names); else exit status 77: skipped.
# Everything lies in a temporary folder: configuration, key, sockets, spools. Only processes started here are ended.
set -euo pipefail

program=$(realpath "$1")
skip() { printf 'skipped: %s\n' "$1"; exit 77; }
[[ $(id -u) == 0 ]] || skip 'it needs root'
for tool in munged slurmctld slurmd sbatch squeue scontrol sinfo; do
  command -v "$tool" >/dev/null || skip "no $tool (apt-get install slurm-wlm munge)"
done

scratch=$(mktemp -d)
daemons=()       # process ids
declare -A slurmd_of

# Ends a process and all that it has started, by their ids.
end_tree() {
  local child children=''
  kill -STOP "$1" 2>/dev/null || return 0
  read -r children 2>/dev/null <"/proc/$1/task/$1/children" || true
  for child in $children; do end_tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}

# Processes of this Slurm's jobs, wherever they hang in the tree by now: they have its configuration in their environment.
job_processes() {
  local environment
  for environment in /proc/[0-9]*/environ; do
    { tr '\0' '\n' <"$environment" | grep -qx "SLURM_CONF=$scratch/slurm.conf"; } 2>/dev/null || continue
    [[ $environment == "/proc/$$/environ" ]] || basename "${environment%/environ}"
  done
}

clean_up() {
  local status=$? process i
  trap '' INT TERM
  kill "${daemons[@]}" 2>/dev/null || true  # they reap their children themselves
  for ((i = 0; i < 30; ++i)); do kill -0 "${daemons[@]}" 2>/dev/null || break; sleep 0.1; done
  for process in "${daemons[@]}"; do end_tree "$process"; done
  for process in $(job_processes); do kill -KILL "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  ((status == 0 || status == 77)) || tail -n 20 "$scratch"/*.log "$scratch"/sweep.sqlite.tasks/*.log 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
fail() { printf 'FAILED: %s\n' "$1" >&2; exit 1; }

# wait_until WHAT COMMAND...: 60 s at most
wait_until() {
  local deadline=$((SECONDS + 60))
  until "${@:2}"; do
    ((SECONDS < deadline)) || fail "waited a minute for $1"
    sleep 0.05
  done
}

# Ports that nobody listens on: of the controller and the three nodes.
free_ports() {
  local port found=()
  for ((port = 20000 + RANDOM % 10000; ${#found[@]} < 4; ++port)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=("$port")
  done
  printf '%s\n' "${found[@]}"
}

start_slurm() {
  local host ports node
  host=$(hostname -s)
  mapfile -t ports < <(free_ports)
  chmod 755 "$scratch"
  mkdir -m 755 "$scratch/munge" "$scratch/state"
  dd if=/dev/urandom of="$scratch/munge/key" bs=64 count=1 status=none
  chmod 600 "$scratch/munge/key"
  munged --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" --seed-file="$scratch/munge/seed" \
    --pid-file="$scratch/munge/pid" --log-file="$scratch/munge.log" >/dev/null 2>&1 &
  daemons+=($!)
  cat >"$scratch/slurm.conf" <<EOF
ClusterName=rehearse
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=100000
JobRequeue=1
ReturnToService=0
KillWait=1
InactiveLimit=0
SlurmdTimeout=10
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
EOF
  for node in 1 2 3; do
    mkdir -m 755 "$scratch/n$node"
    echo "NodeName=n$node NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[node]} CPUs=1 RealMemory=100" >>"$scratch/slurm.conf"
  done
  echo 'PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP' >>"$scratch/slurm.conf"
  export SLURM_CONF=$scratch/slurm.conf
  wait_until munged test -S "$scratch/munge/socket"
  slurmctld -D -c >"$scratch/slurmctld.log" 2>&1 &
  daemons+=($!)
  for node in n1 n2 n3; do
    slurmd -D -N "$node" >"$scratch/$node.log" 2>&1 &
    slurmd_of[$node]=$!
    daemons+=($!)
  done
  wait_until 'three idle nodes' three_are_idle
}
three_are_idle() { [[ $(sinfo --noheader --format='%T %D' 2>/dev/null) == 'idle 3' ]]; }

# Sets `name` to that of the journal of a task that has made rows, is not done and still runs, TASK.NODE-PID, and `task` to its
# process, which it stops. Not the killed one. No process is started: a task takes but a second.
stop_a_task() {
  local part
  for part in "$scratch"/sweep.sqlite.tasks/*.part; do
    name=${part##*/} name=${name%.part} task=${name##*-}
    [[ -s $part && ! -e $scratch/sweep.sqlite.tasks/${name%%.*}.rows && -e /proc/$task/exe && ${name%%.*} != "$victim" ]] || continue
    kill -STOP "$task" 2>/dev/null || continue
    [[ -e $scratch/sweep.sqlite.tasks/${name%%.*}.rows ]] || return 0
    kill -CONT "$task" 2>/dev/null || true
  done
  return 1
}

kill_a_task() {
  stop_a_task || return
  victim=${name%%.*}
  kill -KILL "$task"
}

# The machine loses power: its daemon, the step's daemon, which would tell of the task's end, and the task.
lose_a_node() {
  local stat stepd
  stop_a_task || return
  node=${name#*.} node=${node%-*} lost=${name%%.*}
  read -r stat <"/proc/$task/stat"
  read -r _ stepd _ <<<"${stat##*) }"
  [[ $(<"/proc/$stepd/comm") == slurmstepd ]] || fail "process $stepd is not Slurm's"
  kill -KILL "$stepd" "${slurmd_of[$node]}"
  end_tree "$task"
  scontrol update NodeName="$node" State=DOWN Reason='lost by the test'
}

cat >"$scratch/sweep.json" <<'EOF'
{ "name": "slurm", "repetitions": 5,
  "cluster": { "pools": [ { "name": "k80", "instance": "p2.xlarge", "nodes": 8 },
                          { "name": "v100", "instance": "p3.2xlarge", "nodes": 4 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 120,
              "models": [ { "model": "resnet18", "dataset": "cifar10" }, { "model": "deepspeech2", "dataset": "cmu-arctic" } ] } ],
  "switching": { "start_s": { "sweep": { "from": 10, "to": 100, "steps": 10 } } },
  "policies": [ "manual", "oracle", "static-isotonic-shared", "resource-only" ] }
EOF

cd "$scratch"
"$program" sweep sweep.json --out alone.sqlite --csv alone.csv >alone.txt 2>/dev/null || fail 'the sweep on this machine alone'
printf 'alone: %s\n' "$(grep ' run in ' alone.txt)"
start_slurm
printf 'three nodes are idle after %d s\n' "$SECONDS"
"$program" sweep sweep.json --out sweep.sqlite --csv sweep.csv --launcher slurm --tasks 20 >sweep.txt 2>sweep.err &
sweep=$!
daemons+=("$sweep")
victim='' node='' lost='' name='' task=''
wait_until 'a task to kill' kill_a_task
wait_until 'a node to lose' lose_a_node
printf 'killed task %s; lost node %s with task %s after %d s\n' "$victim" "$node" "$lost" "$SECONDS"
requeued() { scontrol show job 2>/dev/null | grep -A 20 "ArrayTaskId=$lost " | grep -q 'Restarts=[1-9]'; }
wait_until 'a task of the lost node to be requeued' requeued
status=0
wait "$sweep" || status=$?
((status == 0)) || { cat sweep.txt sweep.err >&2; fail "the sweep ended with status $status"; }
grep -qx '200 ok' sweep.txt || { cat sweep.txt >&2; fail 'not 200 rows'; }
cmp alone.csv sweep.csv || fail 'the rows differ from those of this machine alone'
[[ ! -e sweep.sqlite.tasks ]] || fail 'the folder of the tasks is still there'
printf 'Slurm: 200 rows, each once, the same bytes as alone; %d s\n' "$SECONDS"
