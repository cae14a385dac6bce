#!/usr/bin/env bash
#SBATCH --job-name={{label}}
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node=1
#SBATCH {{gpus}}
#SBATCH --exclusive
#SBATCH --time={{minutes}}
#SBATCH --signal=TERM@180
#SBATCH --requeue
#SBATCH --output=%x-%j.log
# sbatch --chdir=FOLDER [--partition=...] slurm.sh, where FOLDER holds these files. Environment: DATA and OUT, on a file system that
# all nodes share. Before its time is over Slurm tells the processes, which save; the job is queued again and goes on.
set -euo pipefail

job={{job}}
power_limit_w={{power_limit_w}}
export OUT=${OUT:-$PWD/out} DATA=${DATA:-/local/{{folder}}}
printf 'training %s on %s nodes\n' "$job" "$SLURM_JOB_NUM_NODES"
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR
if ((power_limit_w > 0)); then
  srun --ntasks-per-node=1 nvidia-smi --power-limit="$power_limit_w" || printf 'GPUs keep their power limit: setting it takes root\n' >&2
fi
status=0
srun --ntasks-per-node=1 bash -c 'NODE_RANK=$SLURM_NODEID exec bash launch.sh --data "$DATA" --out "$OUT"' || status=$?
if ((status != 0)) && [ -e "$OUT/checkpoint.pt" ] && [ ! -e "$OUT/done" ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
