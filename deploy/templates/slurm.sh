#!/usr/bin/env bash
#SBATCH --job-name={{label}}
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node=1
#SBATCH {{gpus}}
#SBATCH --exclusive
#SBATCH --time={{minutes}}
#SBATCH --signal=B:TERM@180
#SBATCH --requeue
#SBATCH --output=%x-%j.log
# sbatch --chdir=FOLDER [--partition=...] slurm.sh, where FOLDER holds these files. Environment: DATA_SOURCE and DATA (preload.sh),
# OUT on a file system that all nodes share.
set -euo pipefail

job={{job}}
power_limit_w={{power_limit_w}}
workers_per_node={{workers_per_node}}
workers={{workers}}
export OUT=${OUT:-$PWD/out} DATA=${DATA:-/local/{{folder}}}

printf 'training %s: %d workers\n' "$job" "$workers"
srun --ntasks-per-node=1 bash preload.sh
if ((power_limit_w > 0)); then
  srun --ntasks-per-node=1 nvidia-smi --power-limit="$power_limit_w" || printf 'GPUs keep their power limit: setting it takes root\n' >&2
fi

hosts='' left=$workers
while read -r host; do
  slots=$((left < workers_per_node ? left : workers_per_node))
  if ((slots > 0)); then hosts+=${hosts:+,}$host:$slots; fi
  left=$((left - slots))
done < <(scontrol show hostnames "$SLURM_JOB_NODELIST")

bash launch.sh horovodrun -np "$workers" -H "$hosts" python3 train.py --data "$DATA" --out "$OUT" &
training=$!
trap 'kill -TERM "$training"' TERM
status=0
wait "$training" || status=$?
while kill -0 "$training" 2>/dev/null; do
  status=0
  wait "$training" || status=$?
done
if ((status == 75)); then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
