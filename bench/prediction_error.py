#!/usr/bin/env python3
"""How far predicted step times are from measured ones, by what is known of the machine: the tables of docs/evidence, and the
errors that `rehearse rent` reckons with (policies/harness/rent.cpp, validated_error).

    REHEARSE_DATA=... bench/prediction_error.py build/release/cli/rehearse [LEVEL ...] ["pairs"]

Groups are one laboratory's software on one device; each counts once, whatever its rows. Of a group the mean of log(measured /
predicted) and the variance around it; over the groups the mean of the means (the bias), the variance between them, and the mean
of the variances within. An unseen group deviates by sqrt(between (1 + 1/groups) + within). `in 90 %` are a group's rows in the
interval that the other groups make, `in own` those in the interval that the program gave each of them.
Other models, and other batches, are those of the same laboratory: each set is fitted on its own. Stacks are learned from the
others: all sets are in one file.
`rank`: are a model's configurations in their order? Of seconds a sample, over batches (of a group) or over devices, batches and
workers (of a level), the mean over models with at least four. What was measured of one configuration counts once, by its median.
`pairs`: a device of which only the data sheet is known, by one other device's rows of the same laboratory.
`rent` keeps one worker's bias for several: what their deviation around that bias has beyond one worker's stands in the column
`more`, of data sheets.
"""
import csv
import itertools
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

SETS = [("gavel", ["gavel/simulation_throughputs.json", "gavel/physical_cluster_throughputs.json"]),
        ("tf-benchmarks", ["tf_benchmarks/tf_benchmarks_2017_05.csv"]),
        ("zeus", [f"zeus/summary_power_{device}.csv" for device in ("v100", "p100", "rtx6000", "a40")]),
        ("pollux", [f"pollux_osdi21/traces/{name}/placements.csv" for name in ("cifar10", "imagenet", "deepspeech2", "bert")]),
        ("trimtuner", ["trimtuner/cnn.csv"])]
# Name, options of `validate`, what it is in words; sets in one file where they learn from each other.
LEVELS = [("data sheet", [], "the data sheet alone", True),
          ("stack", ["--hold-out", "stacks"], "the data sheet, and its software elsewhere", True),
          ("other models", ["--hold-out", "models"], "other models measured on it", False),
          ("this model", ["--hold-out", "batches"], "the very model at other batch sizes", False)]
SPREADS = ("one", "several of a node", "several nodes")
NINETY = 1.645  # standard deviations to both sides
FEWEST_CONFIGURATIONS = 4


def measured_rows(program, folder):
    """Files of each set, and of all: each row once, of settings under several power limits those of the highest."""
    files, everything, columns = [], [], None
    for form, names in SETS:
        found, highest = {}, {}
        for name in names:
            out = os.path.join(folder, "set.csv")
            path = os.path.join(os.environ["REHEARSE_DATA"], name)
            subprocess.run([program, "import", "measurements", form, path, "-o", out], check=True, stdout=subprocess.DEVNULL)
            with open(out) as imported:
                reader = csv.DictReader(imported)
                columns = reader.fieldnames
                found.update({tuple(row.values()): row for row in reader})

        def setting(row):
            of = ("model", "device", "batch_per_worker", "source", "nodes", "workers_per_node", "workers", "sync", "servers",
                  "instance")
            return tuple(row[column] for column in of)

        def limit_w(row):
            return float(row["power_limit_w"] or math.inf)
        for row in found.values():
            highest[setting(row)] = max(highest.get(setting(row), 0), limit_w(row))
        rows = [{**row, "power_limit_w": "", "power_w": ""} for row in found.values() if limit_w(row) == highest[setting(row)]]
        everything += rows
        files.append(write(os.path.join(folder, f"{form}.csv"), columns, rows))
    return files, write(os.path.join(folder, "all.csv"), columns, everything)


def write(path, columns, rows):
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


class Row:
    def __init__(self, row):
        nodes = int(row["nodes"] or 1)
        workers = int(row["workers"] or nodes * int(row["workers_per_node"] or 1))
        batch = float(row["batch_per_worker"])
        self.group = (row["source"].split()[0], row["device"])
        self.task = (self.group[0], row["subject"])
        self.configuration = (row["device"], row["instance"], batch, nodes, workers, row["sync"], row["servers"], row["precision"])
        self.spread = SPREADS[0] if workers == 1 else SPREADS[1] if nodes == 1 else SPREADS[2]
        self.error = math.log(float(row["step_s"]) / float(row["predicted_s"]))  # of measured over predicted
        self.in_own = float(row["low_s"]) <= float(row["step_s"]) <= float(row["high_s"]) if row.get("low_s") else None
        self.measured_s, self.predicted_s = float(row["step_s"]) / batch, float(row["predicted_s"]) / batch  # a sample


def predictions(program, measured, options, folder):
    out = os.path.join(folder, "rows.csv")
    subprocess.run([program, "validate", measured, *options, "--rows", out], check=True, stdout=subprocess.DEVNULL)
    with open(out) as file:
        # With a hold-out those of a set with one model are no more than the data sheet's.
        return [Row(row) for row in csv.DictReader(file)
                if row["predicted_s"] and not (options and row["status"] == "uncalibrated")]


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
    """Equal values have the mean of their places."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def split(rows, key):
    parts = {}
    for row in rows:
        parts.setdefault(key(row), []).append(row)
    return parts


def rank(rows):
    """Mean over the models; `-` where none has enough configurations that differ."""
    found = []
    for task in split(rows, lambda r: r.task).values():
        each = split(task, lambda r: r.configuration).values()
        measured = ranks([statistics.median(r.measured_s for r in one) for one in each])
        predicted = ranks([statistics.median(r.predicted_s for r in one) for one in each])
        if len(each) >= FEWEST_CONFIGURATIONS and len(set(measured)) > 1 and len(set(predicted)) > 1:
            found.append(statistics.correlation(measured, predicted))
    return f"{statistics.fmean(found):.2f}" if found else "-"


def in_own(rows):
    told = [r.in_own for r in rows if r.in_own is not None]
    return f"{100 * statistics.fmean(told):.0f}" if told else "-"


class Summary:
    """Of one level's rows that are spread alike."""

    def __init__(self, rows):
        self.rows = rows
        self.groups = {name: [r.error for r in group] for name, group in sorted(split(rows, lambda r: r.group).items())}
        self.bias, self.deviation = unseen(list(self.groups.values()))
        self.inside = {name: statistics.fmean(abs(e - b) <= NINETY * d for e in group) for name, group in self.groups.items()
                       for b, d in [unseen([g for n, g in self.groups.items() if n != name])]}
        self.absolute = {name: [abs(math.expm1(-e)) for e in group] for name, group in self.groups.items()}

    def over_groups(self, share):
        return statistics.fmean(quantile(a, share) for a in self.absolute.values())

    def lines(self, spread):
        for name, errors in self.groups.items():
            own = [r for r in self.rows if r.group == name]
            yield (f"| {name[0]}, {name[1]} | {spread} | {len(errors)} | {100 * quantile(self.absolute[name], 0.5):.1f} | "
                   f"{100 * quantile(self.absolute[name], 0.9):.1f} | {100 * math.expm1(-statistics.fmean(errors)):+.1f} | "
                   f"{100 * self.inside[name]:.0f} | {in_own(own)} | {rank(own)} |")
        own = [float(told) for told in (in_own([r for r in self.rows if r.group == name]) for name in self.groups) if told != "-"]
        yield (f"| **{len(self.groups)} groups, each the same** | {spread} | {len(self.rows)} | "
               f"**{100 * self.over_groups(0.5):.1f}** | {100 * self.over_groups(0.9):.1f} | {100 * math.expm1(-self.bias):+.1f} | "
               f"{100 * statistics.fmean(self.inside.values()):.0f} | {statistics.fmean(own) if own else math.nan:.0f} | "
               f"{rank(self.rows)} |")


def pairs(program, files, folder):
    """Rows are devices whose data sheet is known, columns those that were measured."""
    print("\n### One device's rows for another: `rehearse validate FILE --hold-out devices`, FILE with both\n")
    for file in files:
        with open(file) as measured:
            reader = csv.DictReader(measured)
            by_device = split([r for r in reader if int(r["workers"] or int(r["nodes"] or 1) * int(r["workers_per_node"] or 1)) == 1],
                              lambda r: r["device"])
        if len(by_device) < 2:
            continue
        errors = {}
        for a, b in itertools.combinations(sorted(by_device), 2):
            both = write(os.path.join(folder, "pair.csv"), reader.fieldnames, by_device[a] + by_device[b])
            for name, own in split(predictions(program, both, ["--hold-out", "devices"], folder), lambda r: r.group[1]).items():
                errors[name, b if name == a else a] = [abs(math.expm1(-r.error)) for r in own]
        devices = sorted(by_device)
        every = [quantile(e, 0.5) for e in errors.values()]
        print(f"\n| {os.path.basename(file)[:-4]}, median % | {' | '.join(f'from {d}' for d in devices)} |\n|---|{'---:|' * len(devices)}")
        for to in devices:
            cells = [f"{100 * quantile(errors[to, d], 0.5):.1f}" if (to, d) in errors else "-" for d in devices]
            print(f"| to {to} | {' | '.join(cells)} |")
        print(f"\n{len(every)} pairs, mean of the medians {100 * statistics.fmean(every):.1f} %", flush=True)


def main(program, wanted):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        files, everything = measured_rows(program, folder)
        for level, options, words, together in LEVELS:
            if wanted and level not in wanted:
                continue
            began = time.monotonic()
            rows = []
            for file in [everything] if together else files:
                rows += predictions(program, file, options, folder)
            print(f"\n### {words[0].upper() + words[1:]}: `{' '.join(['rehearse validate FILE', *options])}`\n\n"
                  "| laboratory, device | workers | rows | median, % | p90, % | bias, % | in 90 % | in own | rank |\n"
                  "|---|---|---:|---:|---:|---:|---:|---:|---:|")
            for spread, its in sorted(split(rows, lambda r: r.spread).items(), key=lambda part: SPREADS.index(part[0])):
                if len(split(its, lambda r: r.group)) < 2:
                    continue
                summary = found[level, spread] = Summary(its)
                print("\n".join(summary.lines(spread)), flush=True)
            print(f"{level}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        if not wanted or "pairs" in wanted:
            pairs(program, files, folder)
    print("\n| known of the machine | workers | median error, % | measured over predicted, nine of ten | wrong by more, % | "
          "deviation | more |\n|---|---|---:|---|---:|---:|---:|")
    for (level, spread), summary in found.items():
        low, high = (math.exp(summary.bias + side * NINETY * summary.deviation) for side in (-1, 1))
        one = found.get((level, SPREADS[0]), summary)
        more = math.sqrt(max(0, summary.deviation ** 2 + (summary.bias - one.bias) ** 2 - one.deviation ** 2))
        words = next(words for name, _, words, _ in LEVELS if name == level)
        print(f"| {words} | {spread} | {100 * summary.over_groups(0.5):.0f} | {low:.2f} to {high:.2f} | "
              f"{100 * (1 - statistics.fmean(summary.inside.values())):.0f} | {summary.deviation:.2f} | "
              f"{f'{more:.2f}' if level == 'data sheet' and spread != SPREADS[0] else '-'} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
