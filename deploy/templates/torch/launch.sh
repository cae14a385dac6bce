#!/usr/bin/env bash
# launch.sh [arguments of train.py]: the processes of this node. Environment of several nodes: NODE_RANK and MASTER_ADDR.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
# --redirects and --tee: PyTorch 1.13 under Python 3.11 does not take its own default, none.
exec python3 -m torch.distributed.run --nnodes={{nodes}} --nproc_per_node={{workers_per_node}} --node_rank="${NODE_RANK:-0}" \
  --master_addr="${MASTER_ADDR:-127.0.0.1}" --master_port="${MASTER_PORT:-29500}" --redirects=1 --tee=1 "$folder/train.py" "$@"
