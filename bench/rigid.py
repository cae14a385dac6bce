"""Rigid jobs for benchmarks: seeded one-GPU jobs, Poisson arrivals, exponential durations of an hour in the mean."""
import random

from measuring import RECORDS

CLUSTERS = (1_000, 10_000)  # GPUs, one a node
LOAD = 0.8
MEAN_DURATION_S = 3600.0


def write_trace(path, jobs, gpus, deadlines=False):
    rng = random.Random(1)
    submit_s = 0.0
    with open(path, "w", encoding="ascii") as trace:
        trace.write("job_id,submit_s,gpus,duration_s" + (",deadline_s" if deadlines else "") + "\n")
        for job in range(jobs):
            duration_s = max(1.0, rng.expovariate(1 / MEAN_DURATION_S))
            deadline = f",{duration_s * rng.uniform(1, 3):.3f}" if deadlines else ""
            trace.write(f"job{job},{submit_s:.3f},1,{duration_s:.3f}{deadline}\n")
            submit_s += rng.expovariate(LOAD * gpus / MEAN_DURATION_S)


def scenario(trace, nodes, discipline="fifo", instance="p3.2xlarge"):
    return {
        "name": "rigid",
        "seed": 1,
        "cluster": {"pools": [{"name": "gpus", "instance": instance, "nodes": nodes}]},
        "jobs": [{"trace": str(trace)}],
        "policies": [{"name": "measured", "queue": discipline}],
        "output": RECORDS,
    }
