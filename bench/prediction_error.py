#!/usr/bin/env python3
"""How far predicted step times are from measured ones, by what is known of the machine: the errors that `rehearse rent` reckons
with (policies/harness/rent.cpp, validated_error) and the tables of docs/evidence.

    REHEARSE_DATA=... bench/prediction_error.py build/release/cli/rehearse

Groups are one laboratory's software on one device; each counts once, whatever its rows. Of a group the mean of log(measured /
predicted) and the variance around it; over the groups the mean of the means (the bias), the variance between them, and the mean
of the variances within. An unseen group deviates by sqrt(between (1 + 1/groups) + within).
`rent` keeps one worker's bias for several: what their deviation around that bias has beyond one worker's stands in the column
`more`, of data sheets.
"""
import csv
import math
import os
import statistics
import subprocess
import sys
import tempfile

SETS = [("gavel", ["gavel/simulation_throughputs.json", "gavel/physical_cluster_throughputs.json"]),
        ("tf-benchmarks", ["tf_benchmarks/tf_benchmarks_2017_05.csv"]),
        ("zeus", [f"zeus/summary_power_{device}.csv" for device in ("v100", "p100", "rtx6000", "a40")]),
        ("pollux", [f"pollux_osdi21/traces/{name}/placements.csv" for name in ("cifar10", "imagenet", "deepspeech2", "bert")])]
LEVELS = [("data sheet", []), ("data sheet and stack", ["--hold-out", "stacks"]),
          ("other models", ["--hold-out", "models"]), ("this model", ["--hold-out", "batches"])]
NINETY = 1.645  # standard deviations to both sides


def measured_rows(program, folder):
    """All sets as one file: each row once, of settings under several power limits those of the highest."""
    found, columns, highest = {}, None, {}
    for form, files in SETS:
        for name in files:
            out = os.path.join(folder, "set.csv")
            path = os.path.join(os.environ["REHEARSE_DATA"], name)
            subprocess.run([program, "import", "measurements", form, path, "-o", out], check=True, stdout=subprocess.DEVNULL)
            with open(out) as imported:
                reader = csv.DictReader(imported)
                columns = reader.fieldnames
                found.update({tuple(row.values()): row for row in reader})

    def setting(row):
        return tuple(row[column] for column in ("model", "device", "batch_per_worker", "source", "nodes", "workers_per_node"))

    def limit_w(row):
        return float(row["power_limit_w"] or math.inf)
    for row in found.values():
        highest[setting(row)] = max(highest.get(setting(row), 0), limit_w(row))
    whole = os.path.join(folder, "all.csv")
    with open(whole, "w", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        writer.writerows({**row, "power_limit_w": "", "power_w": ""} for row in found.values()
                         if limit_w(row) == highest[setting(row)])
    return whole


def errors(program, measured, options, folder):
    """Rows as (laboratory, device, spread, log of measured over predicted, seconds a sample measured and predicted)."""
    out = os.path.join(folder, "rows.csv")
    subprocess.run([program, "validate", measured, *options, "--rows", out], check=True, stdout=subprocess.DEVNULL)
    with open(out) as file:
        rows = [row for row in csv.DictReader(file) if row["predicted_s"]]
    found = []
    for row in rows:
        nodes = int(row["nodes"] or 1)
        workers = int(row["workers"] or nodes * int(row["workers_per_node"] or 1))
        spread = "one" if workers == 1 else "several of a node" if nodes == 1 else "several nodes"
        measured_s, predicted_s, batch = float(row["step_s"]), float(row["predicted_s"]), float(row["batch_per_worker"])
        found.append((row["source"].split()[0], row["device"], spread, math.log(measured_s / predicted_s),
                      measured_s / batch, predicted_s / batch))
    return found


def quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def unseen(groups):
    """Bias and deviation of the logarithm of a further group."""
    means = [statistics.fmean(group) for group in groups]
    between = statistics.variance(means) if len(means) > 1 else 0
    within = statistics.fmean(statistics.pvariance(group) for group in groups)
    return statistics.fmean(means), math.sqrt(between * (1 + 1 / len(means)) + within)


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    place = [0.0] * len(values)
    for rank, index in enumerate(order):
        place[index] = rank
    return place


def main(program):
    print(f"{'known of the machine':<22}{'workers':<19}{'groups':>7}{'rows':>6}{'measured/predicted':>20}{'deviation':>11}"
          f"{'median %':>10}{'p90 %':>8}{'bias %':>8}{'in 90 %':>9}{'rank':>6}{'more':>6}")
    with tempfile.TemporaryDirectory() as folder:
        measured = measured_rows(program, folder)
        for level, options in LEVELS:
            all_rows = errors(program, measured, options, folder)
            one = None
            for spread in ("one", "several of a node", "several nodes"):
                groups, of_groups = {}, {}
                for laboratory, device, its, error, measured_s, predicted_s in all_rows:
                    if its == spread:
                        groups.setdefault((laboratory, device), []).append(error)
                        of_groups.setdefault((laboratory, device), []).append((measured_s, predicted_s))
                if len(groups) < 2:
                    continue
                bias, deviation = unseen(list(groups.values()))
                one = one or (bias, deviation)
                more = math.sqrt(max(0, deviation ** 2 + (bias - one[0]) ** 2 - one[1] ** 2))
                # Each group's rows in the interval that the others make.
                inside = [statistics.fmean(abs(e - b) <= NINETY * d for e in group)
                          for name, group in groups.items()
                          for b, d in [unseen([g for n, g in groups.items() if n != name])]]
                medians = [quantile([abs(math.expm1(-e)) for e in g], 0.5) for g in groups.values()]
                p90 = [quantile([abs(math.expm1(-e)) for e in g], 0.9) for g in groups.values()]
                order = [statistics.correlation(ranks([m for m, _ in g]), ranks([p for _, p in g]))
                         for g in of_groups.values() if len(g) > 2]
                print(f"{level:<22}{spread:<19}{len(groups):>7}{sum(map(len, groups.values())):>6}{math.exp(bias):>20.2f}"
                      f"{deviation:>11.2f}{100 * statistics.fmean(medians):>10.1f}{100 * statistics.fmean(p90):>8.1f}"
                      f"{100 * math.expm1(-bias):>+8.1f}{100 * statistics.fmean(inside):>9.0f}{statistics.fmean(order):>6.2f}"
                      f"{f'{more:.2f}' if level == 'data sheet' and spread != 'one' else '-':>6}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
