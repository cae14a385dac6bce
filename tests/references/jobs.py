"""Jobs of the references: rigid, as (submitted, devices, seconds), whole numbers; and the mean completion time of a schedule."""
import csv
import gzip
import os
import random
from datetime import datetime


def generated(count, seed):
    """Bursty arrivals, sizes 1 to 8, durations over four decades: `random.Random.random` is the same in every Python."""
    rng, date, jobs = random.Random(seed), 0, []
    for _ in range(count):
        date += int(600 * rng.random() ** 4 * 5)
        jobs.append((date, (1, 1, 1, 1, 2, 4, 8)[int(7 * rng.random())], int(10 * 10 ** (3.6 * rng.random())) + 1))
    return jobs


def philly(data, every, count=None):
    """Of the Philly jobs of 1 to 8 GPUs every so manieth, by date, on 1, 2, 4 or 8 GPUs, as long as they were."""
    path = os.path.join(data, "pollux_osdi21", "traces", "philly.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["timestamp"])
    rows = [row for row in rows if 1 <= int(float(row["num_gpus"])) <= 8 and float(row["duration"]) >= 1][::every][:count]
    first = datetime.fromisoformat(rows[0]["timestamp"])
    sizes = [1, 1, 2, 2, 4, 4, 4, 4, 8]
    return [(int((datetime.fromisoformat(row["timestamp"]) - first).total_seconds()), sizes[int(float(row["num_gpus"]))],
             int(float(row["duration"]))) for row in rows]


def tiresias(data):
    """The 60 jobs of Tiresias' testbed, which come with its simulator."""
    with open(os.path.join(data, "tiresias", "60_job.csv"), encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["submit_time"]))
    return [(int(row["submit_time"]), int(row["num_gpu"]), int(row["duration"])) for row in rows]


def write(jobs, path):
    """As a native trace."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,gpus,duration_s\n")
        file.writelines(f"{number},{job[0]},{job[1]},{job[2]}\n" for number, job in enumerate(jobs))


def mean_completion_s(jobs, ends):
    return sum(end - job[0] for job, end in zip(jobs, ends)) / len(jobs)
