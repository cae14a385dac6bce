#!/usr/bin/env python3
"""EASY backfilling on whole nodes, by definition, beside the program: jobs of one node, or of several whole ones.

  whole_nodes.py PROGRAM [TRACE.csv NODES...]

Without a trace: jobs drawn here, and three numbers of nodes. A trace has the native columns submit_s, gpus, duration_s and
walltime_s; its jobs take the fewest nodes of 8. Every start must be that of the reference."""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

PER_NODE = 8


def drawn(count, seed):
    """(submitted, devices, seconds, limit): bursts, sizes 1 to 32, limits up to four times the length."""
    rng, date, jobs = random.Random(seed), 0, []
    for _ in range(count):
        date += int(400 * rng.random() ** 4 * 5)
        length = int(60 * 10 ** (2.5 * rng.random()))
        jobs.append((date, (1, 1, 2, 4, 8, 8, 16, 32)[int(8 * rng.random())], length, int(length * (1 + 3 * rng.random()))))
    return jobs


def trace(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [(float(row["submit_s"]), int(row["gpus"]), float(row["duration_s"]), float(row["walltime_s"] or row["duration_s"]))
                for row in csv.DictReader(file) if row.get("pool", "a100") == "a100"]
    first = min(row[0] for row in rows)
    return sorted(((date - first, devices, length, max(length, limit)) for date, devices, length, limit in rows),
                  key=lambda row: row[0])


def nodes_of(devices):
    return max(1, devices // PER_NODE)


def places(devices, free):
    """The fullest nodes that have room, the first of equals; None without enough of them."""
    each = devices // nodes_of(devices)
    ready = sorted((room, node) for node, room in enumerate(free) if room >= each)[:nodes_of(devices)]
    return [(node, each) for _, node in ready] if len(ready) == nodes_of(devices) else None


def easy(jobs, nodes):
    """The date at which each job starts. The first that does not fit has the nodes that are ready first, whole, reserved."""
    free, running, waiting, starts, arrived = [PER_NODE] * nodes, {}, [], [None] * len(jobs), 0
    while arrived < len(jobs) or running:
        now = min([starts[job] + jobs[job][2] for job in running] + ([jobs[arrived][0]] if arrived < len(jobs) else []))
        for job in [job for job in running if starts[job] + jobs[job][2] <= now]:
            for node, devices in running.pop(job):
                free[node] += devices
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            waiting.append(arrived)
            arrived += 1
        shadow, kept = None, set()
        for job in list(waiting):
            place = places(jobs[job][1], free)
            if shadow is not None and place and now + jobs[job][3] > shadow and kept & {node for node, _ in place}:
                continue
            if place:
                starts[job], running[job] = now, place
                for node, devices in place:
                    free[node] -= devices
                waiting.remove(job)
            elif shadow is None:
                later = list(free)
                for end, other in sorted((starts[other] + jobs[other][3], other) for other in running):
                    for node, devices in running[other]:
                        later[node] += devices
                    if reserved := places(jobs[job][1], later):
                        shadow, kept = end, {node for node, _ in reserved}
                        break
    return starts


def replayed(program, folder, jobs, nodes):
    with open(os.path.join(folder, "jobs.csv"), "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,gpus,nodes,duration_s,walltime_s\n")
        for number, (date, devices, length, limit) in enumerate(jobs):
            file.write(f"{number},{date},{devices},{nodes_of(devices)},{length},{limit}\n")
    path, out = os.path.join(folder, "nodes.json"), os.path.join(folder, "out")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"name": "nodes", "seed": 1, "jobs": [{"trace": "jobs.csv"}],
                   "cluster": {"pools": [{"name": "gpus", "instance": "p3.16xlarge", "nodes": nodes}]},
                   "policies": [{"name": "easy", "queue": {"name": "easy", "depth": 1e9}}],
                   "output": {"events": "none", "timeline": False, "report": False}}, file)
    subprocess.run([program, "run", path, "--out", out, "--replace"], check=True, stdout=subprocess.DEVNULL)
    starts = [None] * len(jobs)
    with open(os.path.join(out, "jobs.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            starts[int(row["job"])] = float(row["start_s"])
    return starts


def main():
    program = os.path.abspath(sys.argv[1])
    jobs = trace(sys.argv[2]) if len(sys.argv) > 2 else drawn(700, 1)
    wrong = 0
    for nodes in map(int, sys.argv[3:] or (6, 8, 12)):
        with tempfile.TemporaryDirectory() as folder:
            here, reference = replayed(program, folder, jobs, nodes), easy(jobs, nodes)
        others = sum(ours != theirs for ours, theirs in zip(here, reference))
        waits = [start - job[0] for start, job in zip(here, jobs) if job[1] == PER_NODE]
        print(f"{nodes} nodes: {len(jobs)} jobs, {others} start at another date; jobs of {PER_NODE} devices wait "
              f"{sum(waits) / len(waits) / 3600:.2f} h")
        wrong += others
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
