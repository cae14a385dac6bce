#!/usr/bin/env python3
"""Times training steps of the model zoo, and single operations, with PyTorch on this machine's CPU or GPU, and writes the rows
that `rehearse validate` and `rehearse calibrate` read. Needs PyTorch and nothing else; downloads nothing: samples are noise."""
import argparse
import csv
import json
import os
import re
import sys
from collections import namedtuple

Dataset = namedtuple("Dataset", "shape classes")  # workloads/training/datasets.cpp
DATASETS = {
    "cifar10": Dataset((3, 32, 32), 10), "cifar100": Dataset((3, 32, 32), 100), "imagenet": Dataset((3, 224, 224), 1000),
    "coco": Dataset((3, 416, 416), 80), "voc": Dataset((3, 416, 416), 20),
    "lsun-bedroom": Dataset((3, 64, 64), 1), "ptb": Dataset((35,), 10000), "wikitext-2": Dataset((35,), 33278),
    "cmu-arctic": Dataset((1, 161, 300), 29), "librispeech-100h": Dataset((1, 161, 1270), 29),
    "librispeech-960h": Dataset((1, 161, 1230), 29)}

Model = namedtuple("Model", "datasets optimizer batches")  # workloads/zoo/zoo.cpp; the first dataset is the default
IMAGES, SMALL_IMAGES = ("imagenet",), ("imagenet", "cifar10", "cifar100")
MODELS = {
    "alexnet": Model(IMAGES, "momentum", (16, 32, 64, 128)), "vgg16": Model(IMAGES, "momentum", (4, 8, 16, 32)),
    "vgg19": Model(IMAGES, "momentum", (4, 8, 16, 32)), "resnet18": Model(SMALL_IMAGES, "momentum", (8, 16, 32, 64, 128)),
    "resnet32": Model(("cifar10", "cifar100"), "momentum", (16, 32, 64, 128)),
    "resnet34": Model(SMALL_IMAGES, "momentum", (8, 16, 32, 64)), "resnet50": Model(SMALL_IMAGES, "momentum", (4, 8, 16, 32)),
    "resnet101": Model(SMALL_IMAGES, "momentum", (4, 8, 16, 32)), "resnet152": Model(SMALL_IMAGES, "momentum", (4, 8, 16, 32)),
    "inception-v3": Model(IMAGES, "momentum", (4, 8, 16, 32)), "dcgan": Model(("lsun-bedroom",), "adam", (8, 16, 32, 64, 128)),
    "rnnlm": Model(("ptb", "wikitext-2"), "sgd", (5, 10, 20, 40)),
    "deepspeech2": Model(("librispeech-960h", "librispeech-100h", "cmu-arctic"), "momentum", (2, 4, 8)),
    "yolov3": Model(("coco", "voc"), "momentum", (1, 2, 4, 8))}
OP_KINDS = ("gemm", "conv", "rnn", "elementwise")  # kernels.KINDS

COLUMNS = ("model,dataset,device,nodes,workers_per_node,batch_per_worker,sync,step_s,op,precision,forward_s,backward_s,threads,"
           "spread,source").split(",")
USAGE, FAILED = 2, 1
EPILOG = """examples:
  measure.py --models resnet18/cifar10,rnnlm --threads 1,2 --name my-cpu --out steps.csv
  measure.py --models resnet50 --batches 16,32,64,128 --device cuda --name v100 --out steps.csv
  measure.py --ops --name my-cpu --out ops.csv
  rehearse validate steps.csv --catalogue my-machine.json     (a catalogue file with the device my-cpu: docs/reference/cluster.md)"""


def quit_with(status, message):
    print(f"measure.py: {message}", file=sys.stderr)
    sys.exit(status)


def say(message):
    print(message, file=sys.stderr, flush=True)


def nearest(name, names):
    import difflib
    found = difflib.get_close_matches(name, names, 1)
    return f' (did you mean "{found[0]}"?)' if found else f" (known: {', '.join(names)})"


def models_of(text):
    """"resnet18/cifar10,rnnlm" as pairs of names."""
    pairs = []
    for part in text.split(","):
        model, _, dataset = part.strip().partition("/")
        if model not in MODELS:
            raise argparse.ArgumentTypeError(f'"{model}" is not a model that can be measured{nearest(model, MODELS)}')
        dataset = dataset or MODELS[model].datasets[0]
        if dataset not in MODELS[model].datasets:
            raise argparse.ArgumentTypeError(f'{model} has no samples of "{dataset}"{nearest(dataset, MODELS[model].datasets)}')
        pairs.append((model, dataset))
    return pairs


def kinds_of(text):
    kinds = [kind.strip() for kind in text.split(",")]
    for kind in kinds:
        if kind not in OP_KINDS:
            raise argparse.ArgumentTypeError(f'"{kind}" is not a kind of operation{nearest(kind, OP_KINDS)}')
    return kinds


def counts_of(text):
    counts = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a list of whole numbers of 1 and more')
    return counts


def seconds_of(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of seconds between 0 and 3600')
    return seconds


def sample_of(model, data):
    return (3, 299, 299) if model == "inception-v3" else data.shape


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group("what to measure")
    what.add_argument("--models", type=models_of, metavar="LIST", help="MODEL or MODEL/DATASET, separated by commas")
    what.add_argument("--ops", type=kinds_of, metavar="KINDS", nargs="?", const=list(OP_KINDS),
                      help=f"single operations: some of {','.join(OP_KINDS)}; all of them if none is given")
    what.add_argument("--batches", type=counts_of, metavar="LIST", help="batch sizes; else each model has its own (--list)")
    where = parser.add_argument_group("where")
    where.add_argument("--device", default="cpu", metavar="DEVICE", help="cpu (default), cuda, or cuda:1 and so on")
    where.add_argument("--threads", type=counts_of, metavar="LIST", help="thread counts of a CPU; else 1 and all cores")
    where.add_argument("--name", metavar="NAME", help="of the device in the rows: that of your catalogue; else the machine's own")
    how = parser.add_argument_group("how")
    how.add_argument("--seconds", type=seconds_of, default=5.0, metavar="S", help="for each row, about (default 5)")
    how.add_argument("--rounds", type=counts_of, default=[1], metavar="N",
                     help="measure everything N times; each row keeps the round that was least disturbed")
    how.add_argument("--out", metavar="FILE", help="the rows, as CSV (default: standard output)")
    how.add_argument("--system-malloc", action="store_true",
                     help="a CPU's memory as the C library handles it (default: keep what is freed)")
    other = parser.add_argument_group("instead")
    other.add_argument("--list", action="store_true", help="the models, their datasets and batch sizes")
    other.add_argument("--count", action="store_true", help="the parameters and FLOPs of --models (default: all), as built")
    given = parser.parse_args()
    if given.device != "cpu" and not re.fullmatch(r"cuda(:\d+)?", given.device):
        parser.error(f'argument --device: "{given.device}" is none of cpu, cuda, cuda:0, ...')
    if given.device != "cpu" and given.threads:
        parser.error("argument --threads: only a CPU has threads")
    if len(given.rounds) != 1:
        parser.error("argument --rounds: one number")
    if not (given.models or given.ops or given.list or given.count):
        parser.error("say what to measure: --models LIST or --ops; --list shows the models")
    return given


def load_torch(device):
    try:
        import torch
    except ImportError as error:
        quit_with(FAILED, f"PyTorch is missing ({error}). Debian: apt-get install python3-torch libopenblas0-openmp; "
                          f"elsewhere: https://pytorch.org. This is {sys.executable}")
    if device != "cpu":
        index = int(device.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            quit_with(FAILED, f"there is no {device}: PyTorch {torch.__version__} sees {torch.cuda.device_count()} CUDA devices")
        torch.cuda.set_device(index)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # rows say fp32
        torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    torch.set_flush_denormal(True)  # noise that is trained on for long must not slow down
    return torch


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def own_name(torch, device):
    if device != "cpu":
        return torch.cuda.get_device_name()
    found = re.search(r"^model name\s*: (.+)$", read("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else "cpu"


def stay_within_memory():
    """A batch that is too large shall fail with an error instead of waking the kernel's out-of-memory killer."""
    free = re.search(r"^MemAvailable:\s*(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    used = re.search(r"^VmData:\s*(\d+) kB", read("/proc/self/status"), re.MULTILINE)
    if free and used:
        import resource
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = (int(used[1]) + int(0.9 * int(free[1]))) * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def keep_freed_memory():
    """Without this glibc hands large freed tensors back to the kernel, which clears every page anew at the next step: most of the
    time of an element-wise operation, and a cliff in a step's where a tensor passes 32 MiB. Other allocators (jemalloc, tcmalloc)
    keep them, as PyTorch's tuning guide advises."""
    import ctypes
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)


def blas_threads():
    """OpenBLAS built with its own threads must be told their number; says so when the slow reference library is in use."""
    libraries = {os.path.realpath(line.split()[-1]) for line in read("/proc/self/maps").splitlines() if "blas" in line}
    if any(os.path.basename(os.path.dirname(library)) == "blas" for library in libraries):
        say("warning: PyTorch uses the reference BLAS, which is slow; Debian: apt-get install libopenblas0-openmp")
    for library in libraries:
        import ctypes
        setter = getattr(ctypes.CDLL(library), "openblas_set_num_threads", None)
        if setter:
            return setter
    return lambda _: None


def out_of_memory(error):
    return isinstance(error, MemoryError) or any(
        text in str(error) for text in ("out of memory", "can't allocate memory", "bad_alloc"))


class Bench:
    """Measures rows. Of several rounds the one whose upper quartile is lowest stays: other programs only ever slow things down."""

    def __init__(self, given, torch):
        from clock import Clock
        self.given, self.torch = given, torch
        self.clock = Clock(torch, given.device)
        self.machine = own_name(torch, given.device)
        self.name = given.name or re.sub(r"[^a-z0-9]+", "-", self.machine.lower()).strip("-")
        cpu = given.device == "cpu"
        self.set_blas_threads = blas_threads() if cpu else None
        self.threads = (given.threads or sorted({1, os.cpu_count() or 1})) if cpu else [None]
        self.rows, self.upper = {}, {}  # by setting, in order

    def time(self, run, setting, label):
        from clock import repeat
        result = repeat(run, self.given.seconds, self.clock)
        if result["upper"] >= self.upper.get(label, float("inf")):
            return
        self.upper[label] = result["upper"]
        number = "{:.6g}".format
        row = {**setting, "device": self.name, "precision": "fp32", "step_s": number(result[""]),
               "spread": "{:.4f}".format(result["spread"]),
               "source": f"measure.py, PyTorch {self.torch.__version__}, {self.machine}"}
        row.update({f"{phase}_s": number(result[phase]) for phase in ("forward", "backward") if phase in result})
        self.rows[label] = row
        say(f"{label}: {row['step_s']} s (spread {100 * result['spread']:.1f} %, {result['windows']} windows)")

    def on_threads(self, prepare, setting, label):
        """False when it does not fit into memory."""
        try:
            run = prepare()
            for threads in self.threads:
                if threads:
                    self.torch.set_num_threads(threads)
                    self.set_blas_threads(threads)
                self.time(run, {**setting, "threads": threads or ""}, label + (f", threads {threads}" if threads else ""))
            return True
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            say(f"{label}: out of memory, left out")
            return False
        finally:
            run = None
            if self.given.device != "cpu":
                self.torch.cuda.empty_cache()

    def model(self, model, dataset):
        import networks
        data = DATASETS[dataset]
        sample = sample_of(model, data)

        def prepare(batch):
            trained = networks.training(model, MODELS[model].optimizer, sample, data.classes, self.given.device)
            trained.load(networks.samples(sample, data.classes, batch, self.given.device), data.classes)
            return lambda: trained.step(self.clock)

        for batch in sorted(self.given.batches or MODELS[model].batches):
            setting = {"model": model, "dataset": dataset, "nodes": 1, "workers_per_node": 1, "batch_per_worker": batch,
                       "sync": "ring"}
            if not self.on_threads(lambda: prepare(batch), setting, f"{model}/{dataset} batch {batch}"):
                break  # a larger one needs more

    def ops(self, kinds):
        import kernels
        for kind in kinds:
            for op in kernels.KINDS[kind]():
                text = json.dumps(op)
                self.on_threads(lambda: kernels.kernel(op, self.given.device), {"op": text}, text)


def write(rows, path):
    with (open(path, "w", encoding="utf-8", newline="") if path else sys.stdout) as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def list_models():
    print(f"{'model':<14}{'batches':<22}datasets")
    for name, model in MODELS.items():
        print(f"{name:<14}{','.join(map(str, model.batches)):<22}{', '.join(model.datasets)}")
    print(f"\noperations: {', '.join(OP_KINDS)}")


def count(models, device):
    load_torch(device)
    import networks
    print(f"{'model':<14}{'dataset':<18}{'parameters':>12}  {'forward GFLOP':>13}")
    for model, dataset in models or [(name, entry.datasets[0]) for name, entry in MODELS.items()]:
        data = DATASETS[dataset]
        sample = sample_of(model, data)
        trained = networks.training(model, MODELS[model].optimizer, sample, data.classes, device)
        trained.load(networks.samples(sample, data.classes, 1, device), data.classes)
        gflop = networks.forward_flops(trained) / 1e9
        print(f"{model:<14}{dataset:<18}{networks.parameters(trained):>12}  {gflop:>13.3f}", flush=True)


def main():
    given = arguments()
    if given.list:
        return list_models()
    if given.count:
        return count(given.models, given.device)
    torch = load_torch(given.device)
    if given.out and not os.path.isdir(os.path.dirname(given.out) or "."):
        quit_with(FAILED, f"cannot write {given.out}: there is no such folder")
    if given.device == "cpu":
        stay_within_memory()
        if not given.system_malloc:
            keep_freed_memory()
    bench = Bench(given, torch)
    for _ in range(given.rounds[0]):
        for model, dataset in given.models or ():
            bench.model(model, dataset)
        if given.ops:
            bench.ops(given.ops)
    if not bench.rows:
        quit_with(FAILED, "nothing was measured")
    write(bench.rows.values(), given.out)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
