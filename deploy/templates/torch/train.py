"""The training: PyTorch, DistributedDataParallel. Started by launch.sh, or by hand:

  python3 -m torch.distributed.run --nproc_per_node=N train.py --out OUT (--data FOLDER | --synthetic)

It goes on from OUT/checkpoint.pt. When a process is told to end (SIGTERM), all save and end with status 75."""

import argparse
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import data
import schedule
import settings
from network import Network, loss_of

STOPPED = 75


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", required=True, help="checkpoint, metrics and measured steps")
    parser.add_argument("--data", help="folder of train.pt and validation.pt (data.py says what they hold)")
    parser.add_argument("--synthetic", action="store_true", help="noise instead of data: for measuring")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps (default: by epochs)")
    options = parser.parse_args()
    if bool(options.data) == options.synthetic:
        parser.error("either --data or --synthetic")
    return options


class Training:
    def __init__(self, options):
        self.options = options
        self.on_gpu = torch.cuda.is_available()
        dist.init_process_group("nccl" if self.on_gpu else "gloo")
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        if self.size != len(settings.BATCHES):
            sys.exit("%d processes were started, but the batch is split over %d (settings.BATCHES)" % (self.size, len(settings.BATCHES)))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cuda", local) if self.on_gpu else torch.device("cpu")
        if self.on_gpu:
            torch.cuda.set_device(self.device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = settings.PRECISION in ("tf32", "fp16", "bf16")
        self.half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(settings.PRECISION) if self.on_gpu else None
        self.scaler = torch.cuda.amp.GradScaler(enabled=self.half is torch.float16)
        torch.manual_seed(settings.SEED)
        network = Network().to(self.device)
        self.network = DistributedDataParallel(network, device_ids=[local] if self.on_gpu else None)
        self.optimizer = self.made_optimizer(network)
        self.first, self.share, self.weight = schedule.share(settings.BATCHES, self.rank)
        self.per_epoch = schedule.steps_per_epoch(settings)
        self.last_step = options.steps or int(settings.EPOCHS * self.per_epoch)
        self.step, self.told, self.step_s = 0, False, []
        self.samples = data.Samples(options.data, options.synthetic, self.device)
        self.path = os.path.join(options.out, "checkpoint.pt")
        os.makedirs(options.out, exist_ok=True)
        self.load(network)
        self.saved_at = time.time()
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "told", True))

    @staticmethod
    def made_optimizer(network):
        matrices = [p for p in network.parameters() if p.dim() > 1]
        others = [p for p in network.parameters() if p.dim() <= 1]
        groups = [{"params": matrices, "weight_decay": settings.WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
        groups = [g for g in groups if g["params"]]
        if settings.OPTIMIZER == "adam":
            return torch.optim.Adam(groups, lr=settings.LEARNING_RATE)
        return torch.optim.SGD(groups, lr=settings.LEARNING_RATE, momentum=0.9 if settings.OPTIMIZER == "momentum" else 0.0)

    def load(self, network):
        """All processes read the same file: they begin alike."""
        if not os.path.exists(self.path):
            return
        saved = torch.load(self.path, map_location=self.device)
        network.load_state_dict(saved["network"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.scaler.load_state_dict(saved["scaler"])
        self.step = saved["step"]
        if self.rank == 0:
            print("goes on from step %d" % self.step, flush=True)

    def save(self):
        self.saved_at = time.time()
        if self.rank == 0:
            torch.save({"network": self.network.module.state_dict(), "optimizer": self.optimizer.state_dict(),
                        "scaler": self.scaler.state_dict(), "step": self.step}, self.path + ".part")
            os.replace(self.path + ".part", self.path)
        dist.barrier()

    def any_of(self, flag):
        """Whether it holds in any process: all learn of it together."""
        told = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(told)
        return told.item() > 0

    def train_step(self, inputs, labels):
        """DDP takes the mean of the processes' gradients: each weights its own with its share of the batch times their number."""
        parts = min(settings.ACCUMULATION, self.share)
        bounds = [self.share * i // parts for i in range(parts + 1)]
        total = 0.0
        for i, (begin, end) in enumerate(zip(bounds, bounds[1:])):
            self.network.require_backward_grad_sync = i == parts - 1
            with torch.autocast(self.device.type, dtype=self.half, enabled=self.half is not None):
                loss = loss_of(self.network(*[x[begin:end] for x in inputs]), labels[begin:end])
            weighted = loss * ((end - begin) / self.share)
            self.scaler.scale(weighted * self.weight * self.size).backward()
            total += weighted.item()
        if settings.CLIP_NORM is not None:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), settings.CLIP_NORM)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def run(self):
        self.network.train()
        while self.step < self.last_step:
            begin = time.time()
            rate = schedule.learning_rate(settings, self.step / self.per_epoch)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            loss = self.train_step(*self.samples.of_step(self.step, self.per_epoch, sum(settings.BATCHES), self.first, self.share))
            self.step += 1
            self.step_s.append(time.time() - begin)
            if self.step % settings.LOG_STEPS == 0 or self.step == self.last_step:
                self.log(loss=loss, learning_rate=rate, step_s=self.step_s[-1])
            ended = self.step % settings.STOP_STEPS == 0 and self.any_of(self.told)
            if ended or self.after_epoch():
                self.save()
                self.measured()
                return STOPPED if ended else self.done()
            if self.any_of(time.time() - self.saved_at > settings.CHECKPOINT_S) if self.step % settings.STOP_STEPS == 0 else False:
                self.save()
        self.save()
        self.measured()
        return self.done()

    def done(self):
        """What a batch system looks for, before it queues the training again."""
        if self.rank == 0:
            with open(os.path.join(self.options.out, "done"), "w", encoding="utf-8"):
                pass
        return 0

    def after_epoch(self):
        """Whether the target is reached; a checkpoint after each epoch."""
        if self.step % self.per_epoch != 0:
            return False
        accuracy = None
        if not self.options.synthetic:
            accuracy = self.evaluated()
            self.log(epoch=self.step // self.per_epoch, accuracy=accuracy)
        self.save()
        return accuracy is not None and settings.TARGET_ACCURACY is not None and accuracy >= settings.TARGET_ACCURACY

    @torch.no_grad()
    def evaluated(self):
        self.network.eval()
        right = torch.zeros(2, device=self.device)
        for inputs, labels in self.samples.validation(self.rank, self.size, max(1, self.share // settings.ACCUMULATION)):
            best = self.network.module(*inputs).argmax(-1)
            right += torch.tensor([float((best == labels).sum()), float(labels.numel())], device=self.device)
        dist.all_reduce(right)
        self.network.train()
        return (right[0] / right[1].clamp(min=1)).item()

    def log(self, **values):
        if self.rank != 0:
            return
        with open(os.path.join(self.options.out, "metrics.jsonl"), "a", encoding="utf-8") as metrics:
            metrics.write(json.dumps({"time_s": round(time.time(), 3), "step": self.step, "of": self.last_step, **values}) + "\n")
        print("step %d of %d: %s" % (self.step, self.last_step, ", ".join("%s %.5g" % item for item in values.items())), flush=True)

    def measured(self):
        """The median step as a row that `rehearse validate` and `rehearse rent --from` read; the first steps warm up."""
        if self.rank != 0 or len(self.step_s) < 2:
            return
        steps = sorted(self.step_s[min(3, len(self.step_s) // 2):])
        precision = "fp16" if settings.PRECISION in ("fp16", "bf16") and self.on_gpu else "fp32"
        row = [settings.MODEL, settings.DATASET, settings.DEVICE.split("/")[0], settings.NODES, settings.WORKERS_PER_NODE,
               sum(settings.BATCHES) / len(settings.BATCHES), precision, steps[len(steps) // 2], "exported PyTorch"]
        with open(os.path.join(self.options.out, "steps.csv"), "w", encoding="utf-8") as out:
            out.write("model,dataset,device,nodes,workers_per_node,batch_per_worker,precision,step_s,source\n")
            out.write(",".join(str(x) for x in row) + "\n")


if __name__ == "__main__":
    training = Training(arguments())
    status = training.run()
    dist.destroy_process_group()
    sys.exit(status)
