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


def gavel(data, trace, table, most_devices, count=None):
    """The first jobs of a trace of Gavel's that want so many devices at most and were measured somewhere, by the rows of a native table:
    (submitted, devices, seconds by pool, type, steps, batch), by date."""
    alone, jobs = {}, []
    for row in table:
        if not row["partner"]:
            alone.setdefault((row["job_type"], int(row["workers"])), {})[row["pool"]] = 1 / float(row["steps_per_s"]), row["batch"]
    with open(os.path.join(data, "gavel", "traces", trace + ".trace"), encoding="utf-8") as file:
        for fields in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):  # 7, or 10 on the physical cluster
            steps, devices, date = (fields[4], fields[6], fields[5]) if len(fields) == 7 else (fields[5], fields[6], fields[9])
            measured = alone.get((fields[0], int(devices)), {})
            if int(devices) <= most_devices and measured and len(jobs) != count:
                steps = -(-int(steps) // int(devices))  # of all workers together
                jobs.append((float(date), int(devices), {pool: steps * step_s for pool, (step_s, _) in measured.items()}, fields[0], steps,
                             next(iter(measured.values()))[1]))
    return sorted(jobs, key=lambda job: job[0])


def write_measured(jobs, fraction, path):
    """As a native trace, of jobs that do their steps at measured throughputs; those of one device need this part of it."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,gpus,job_type,steps,batch_size,gpu_fraction\n")
        file.writelines(f"{number},{job[0]},{job[1]},{job[3]},{job[4]},{job[5]},{fraction if job[1] == 1 else 1}\n"
                        for number, job in enumerate(jobs))


def write(jobs, path):
    """As a native trace."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("job_id,submit_s,gpus,duration_s\n")
        file.writelines(f"{number},{job[0]},{job[1]},{job[2]}\n" for number, job in enumerate(jobs))


def mean_completion_s(jobs, ends):
    return sum(end - job[0] for job, end in zip(jobs, ends)) / len(jobs)
