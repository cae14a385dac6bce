#!/usr/bin/env python3
"""GPU-seconds of a job trace, from its raw file and the documentation of its format alone: the standard library, and nothing of the
program. gpu_hours.py FORMAT FILE prints GPU-hours. A row counts if its number of GPUs and its length can be read."""
import csv
import gzip
import json
import lzma
import math
import re
import sys
from datetime import datetime, timezone


def opened(path):
    with open(path, "rb") as file:
        head = file.read(6)
    how = gzip.open if head[:2] == b"\x1f\x8b" else lzma.open if head == b"\xfd7zXZ\0" else open
    return how(path, "rt", encoding="utf-8", errors="surrogateescape", newline="")


def number(text, low=0, high=2.0 ** 33, whole=False):
    """Above `low`, up to `high`; 0 for anything else."""
    try:
        x = float(text)
    except (TypeError, ValueError):
        return 0
    return x if low < x <= high and not (whole and x != math.floor(x)) and "_" not in str(text) else 0


def gpus_of(text):
    return number(text, high=1e6, whole=True)


def date(text):
    text = str(text).replace("T", " ").replace("Z", "+00:00")
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()


def rows_of(path, names=None):
    with opened(path) as file:
        rows = csv.reader(file)
        names = names or next(rows)
        for row in rows:
            if len(row) == len(names):
                yield dict(zip(names, row))


def between(row, begin, end):
    """Seconds from one to the other; both are dates from 0 on."""
    a, b = number(row[begin], low=-1e-300), number(row[end], low=-1e-300)
    zero = lambda text: re.fullmatch(r"\s*[-+]?0*\.?0*\s*", text) and "0" in text
    return max(0, b - a) if (a or zero(row[begin])) and (b or zero(row[end])) else 0


def plain(gpus, length):
    return lambda path: math.fsum(gpus_of(r[gpus]) * number(r[length]) for r in rows_of(path))


def native(path):
    def of(r):
        part = number(r["gpu_fraction"], high=1) if r.get("gpu_fraction") else 1
        gpus = gpus_of(r["gpus"]) if r.get("gpus") else 1 if part < 1 else 0
        return gpus * part * number(r.get("duration_s"))
    return math.fsum(map(of, rows_of(path)))


def philly_json(path):
    with opened(path) as file:
        jobs = json.load(file)
    total = 0
    for job in jobs:
        for attempt in job["attempts"]:
            gpus = sum(len(server["gpus"]) for server in attempt["detail"])
            if attempt["start_time"] not in (None, "", "None") and attempt["end_time"] not in (None, "", "None"):
                total += gpus * max(0, date(attempt["end_time"]) - date(attempt["start_time"]))
    return total


def swf(path):
    total = 0
    with opened(path) as file:
        for line in file:
            fields = line.split()
            if line.lstrip().startswith(";") or len(fields) < 18 or not re.fullmatch(r"[-+.\deE]+", fields[4]):
                continue
            total += gpus_of(fields[4] if float(fields[4]) > 0 else fields[7]) * number(fields[3])
    return total


def batsim(path):
    with opened(path) as file:
        workload = json.load(file)
    delays = {name: number(p.get("delay") if not isinstance(p.get("delay"), str) else 0) for name, p in workload["profiles"].items() if p.get("type") in ("delay", "DelayProfile")}
    return math.fsum(gpus_of(job["res"]) * delays.get(str(job["profile"]), 0) for job in workload["jobs"])


def shockwave(path):
    with opened(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return math.fsum(gpus_of(r[6]) * number(r[10]) for r in rows if len(r) == 12)


def pod_gpus(spec):
    def of(container):
        resources = container.get("resources", {})
        asked = {**resources.get("limits", {}), **resources.get("requests", {})}
        return sum(float(n) for name, n in asked.items() if name.endswith("/gpu"))
    beside = starting = 0
    for container in spec.get("initContainers", ()):
        starting = max(starting, beside + of(container))
        beside += of(container) if container.get("restartPolicy") == "Always" else 0
    return max(starting, beside + sum(map(of, spec["containers"])))


def kubernetes(path):
    """Of batch Jobs, and of Workloads whose admitted pods are counted."""
    total = 0
    with opened(path) as file:
        for item in json.load(file)["items"]:
            spec, status = item["spec"], item["status"]
            ends = {c["type"]: c["lastTransitionTime"] for c in status.get("conditions", ())}
            if "podSets" in spec:
                begin, end = ends.get("Admitted"), ends.get("Finished")
                counts = {a["name"]: a["count"] for a in status.get("admission", {}).get("podSetAssignments", ())}
                gpus = sum(counts.get(s["name"], s["count"]) * pod_gpus(s["template"]["spec"]) for s in spec["podSets"])
            else:
                begin, end = status.get("startTime"), ends.get("Complete") or ends.get("Failed")
                pods = spec.get("parallelism", 1)
                gpus = min(pods, spec.get("completions", pods)) * pod_gpus(spec["template"]["spec"])
            if begin and end and gpus > 0:
                total += gpus * (date(end) - date(begin))
    return total


def slurm_seconds(text):
    days, _, rest = text.rpartition("-")
    seconds = 0
    for part in rest.split(":"):
        seconds = 60 * seconds + float(part)
    return 86400 * float(days or 0) + seconds


def slurm_gpus(text, nodes):
    """TRES count a job, GRES one of its nodes; a MIG slice is that many sevenths of a GPU."""
    every, kinds, parts = 0, 0, 0
    for item in re.split(r",(?![^(]*\))", text):
        match = re.fullmatch(r"(?:gres/)?gpu(?::([^=:]+))?[=:](\d+)(?:\(.*\))?", item)
        if not match or ("=" in item) != item.startswith("gres/"):
            continue
        count = int(match[2]) * (1 if "=" in item else nodes)
        slices = re.search(r"(\d)g\.\d+gb", match[1] or "")
        if match[1]:
            kinds, parts = kinds + count, parts + count * (int(slices[1]) / 7 if slices else 1)
        else:
            every += count
    return parts + max(0, every - kinds)


def sacct(path):
    total = 0
    with opened(path) as file:
        names = file.readline().rstrip("\r\n").split("|")
        for line in file:
            r = dict(zip(names, line.rstrip("\r\n").split("|")))
            if len(r) < len(names) or line.count("|") != len(names) - 1 or "." in r["JobID"]:
                continue
            try:
                length = slurm_seconds(r["Elapsed"]) if "Elapsed" in r else date(r["End"]) - date(r["Start"])
            except ValueError:
                continue
            total += max(0, length) * slurm_gpus(r.get("AllocTRES") or r.get("AllocGRES", ""), int(r.get("NNodes") or 1))
    return total


def pbs_pieces(text, name):
    """"2:ngpus=4+1:ngpus=1": each piece as often as its first number says."""
    total = 0
    for piece in text.replace("(", "").replace(")", "").split("+"):
        times = int(piece.split(":")[0]) if piece.split(":")[0].isdigit() else 1
        total += times * sum(int(n) for n in re.findall(rf"(?:^|:){name}=(\d+)", piece))
    return total


def pbs(path):
    """Of all records of type E, also of earlier runs. Where no job has GPUs, its hosts."""
    jobs = []
    with opened(path) as file:
        for line in file:
            parts = line.rstrip("\r\n").split(";", 3)
            if len(parts) == 4 and parts[1] == "E" and "[]" not in parts[2]:
                jobs.append({key: quoted or plain for key, quoted, plain in re.findall(r'(\S+?)=(?:"([^"]*)"|(\S*))', parts[3])})
    def gpus(r):
        shared = r.get("exec_gpus", "")
        return (pbs_pieces(r.get("exec_vnode", ""), "ngpus") or len(shared.split("+")) * bool(shared) or int(r.get("Resource_List.ngpus") or 0)
                or pbs_pieces(r.get("Resource_List.select", ""), "ngpus") or pbs_pieces(r.get("Resource_List.nodes", ""), "gpus"))
    def hosts(r):
        return len({host.split("/")[0] for host in r.get("exec_host", "").split("+") if host}) or int(r.get("Resource_List.nodect") or 0)
    count = gpus if any(map(gpus, jobs)) else hosts
    return math.fsum(count(r) * between(r, "start", "end") for r in jobs)


def alibaba_pai_2020(path):
    names = "job_name task_name inst_num status start_time end_time plan_cpu plan_mem plan_gpu gpu_type".split()
    return math.fsum(gpus_of(r["inst_num"]) * number(r["plan_gpu"]) / 100 * between(r, "start_time", "end_time") for r in rows_of(path, names))


def alibaba_gpu_2023(path):
    def gpus(r):
        return gpus_of(r["num_gpu"]) * (number(r["gpu_milli"], high=1000) / 1000 if r["gpu_milli"] else 1)
    return math.fsum(gpus(r) * between(r, "scheduled_time", "deletion_time") for r in rows_of(path))


def alibaba_gpu_2025(path):
    return math.fsum(number(r["gpu_request"], high=1e6) * between(r, "scheduled_time", "deletion_time") for r in rows_of(path))


def alibaba_spot_2026(path):
    return math.fsum(gpus_of(r["worker_num"]) * number(r["gpu_request"]) * number(r["duration"]) for r in rows_of(path))


GPU_SECONDS = {
    "native": native, "elasticflow-rigid": plain("num_gpu", "duration"), "philly": plain("num_gpus", "duration"),
    "philly-json": philly_json, "tiresias": plain("num_gpu", "duration"), "gavel": lambda path: 0, "gavel-measured": lambda path: 0,
    "elasticflow-measured": lambda path: 0, "swf": swf, "batsim": batsim,
    "shockwave": shockwave, "kubernetes": kubernetes, "helios": plain("gpu_num", "duration"), "sacct": sacct, "pbs": pbs, "alibaba-pai-2020": alibaba_pai_2020,
    "alibaba-gpu-2023": alibaba_gpu_2023, "alibaba-gpu-2025": alibaba_gpu_2025, "alibaba-spot-2026": alibaba_spot_2026,
}

if __name__ == "__main__":
    print(repr(GPU_SECONDS[sys.argv[1]](sys.argv[2]) / 3600))
