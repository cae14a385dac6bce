#!/usr/bin/env python3
"""Watches a training and collects its results; needs no package.

    monitor.py OUT              a line now and then until the training is done: progress, rate, loss, accuracy, what the GPUs do
    monitor.py OUT --once       one line
    monitor.py OUT --collect R  writes R/trainings.csv and R/steps.csv, which `rehearse validate` and `rehearse calibrate` read, and
                                R/curves.svg"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import time

import schedule
import settings


def read_metrics(out):
    """Lines of metrics.jsonl; the last one may be half written."""
    rows = []
    try:
        with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as lines:
            for line in lines:
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    pass
    except OSError:
        pass
    return rows


def last_of(rows, key):
    return next((row[key] for row in reversed(rows) if key in row), None)


def of_gpus():
    """Use and watts of this machine's GPUs; nothing where there are none."""
    query = ["nvidia-smi", "--query-gpu=utilization.gpu,power.draw", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
        pairs = [[float(x) for x in line.split(",")] for line in answer.splitlines()]
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return ", GPUs %s" % " ".join("%.0f%% %.0f W" % (use, watts) for use, watts in pairs) if pairs else ""


def is_done(rows):
    accuracy, step = last_of(rows, "accuracy"), last_of(rows, "step") or 0
    reached = accuracy is not None and settings.TARGET_ACCURACY is not None and accuracy >= settings.TARGET_ACCURACY
    return reached or step >= settings.EPOCHS * schedule.steps_per_epoch(settings)


def line(rows):
    if not rows:
        return "no metrics yet"
    step, step_s = last_of(rows, "step"), last_of(rows, "step_s")
    of = int(settings.EPOCHS * schedule.steps_per_epoch(settings))
    parts = ["step %d of %d (%.1f %%)" % (step, of, 100 * step / max(1, of))]
    if step_s is not None:
        parts.append("%.1f samples/s, %.1f h left" % (last_of(rows, "samples_per_s"), max(0, of - step) * step_s / 3600))
    for key in ("loss", "accuracy"):
        if last_of(rows, key) is not None:
            parts.append("%s %.4f" % (key, last_of(rows, key)))
    return ", ".join(parts) + of_gpus()


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def points(rows, key):
    return [(row["step"], row[key]) for row in rows if key in row]


def svg(rows):
    """Loss and accuracy against steps, each on a scale of its own."""
    width, height, drawn = 800, 400, []
    for key, colour in (("loss", "#b33"), ("accuracy", "#36b")):
        curve = points(rows, key)
        if not curve:
            continue
        steps, values = [p[0] for p in curve], [p[1] for p in curve]
        span, rise = max(1, max(steps)), (max(values) - min(values)) or 1
        path = " ".join("%.1f,%.1f" % (40 + s / span * (width - 60), height - 40 - (v - min(values)) / rise * (height - 80))
                        for s, v in curve)
        drawn.append('<polyline points="%s" fill="none" stroke="%s"/>' % (path, colour))
        drawn.append('<text x="40" y="%d" fill="%s">%s: %.4g to %.4g</text>' % (16 * len(drawn), colour, key, min(values), max(values)))
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">%s</svg>\n'
            % (width, height, "".join(drawn)))


def collect(out, folder):
    """In the columns of docs/reference/workloads.md. A resumed training may have seen an epoch twice: the later one counts."""
    rows = read_metrics(out)
    os.makedirs(folder, exist_ok=True)
    batch = sum(settings.BATCHES)
    epochs = {row["epoch"]: row["accuracy"] for row in rows if "epoch" in row}
    write_csv(os.path.join(folder, "trainings.csv"),
              ["model", "dataset", "batch_size", "epoch", "metric", "learning_rate", "optimizer", "source"],
              [[settings.MODEL, settings.DATASET, batch, epoch, accuracy, settings.LEARNING_RATE, settings.OPTIMIZER, settings.JOB]
               for epoch, accuracy in sorted(epochs.items())])
    times = [row["step_s"] for row in rows if "step_s" in row][1:]  # the first one compiles
    write_csv(os.path.join(folder, "steps.csv"),
              ["device", "model", "dataset", "nodes", "workers_per_node", "batch_per_worker", "step_s", "source"],
              [[settings.DEVICE, settings.MODEL, settings.DATASET, settings.NODES, settings.WORKERS_PER_NODE, max(settings.BATCHES),
                statistics.median(times), settings.JOB]] if times else [])
    with open(os.path.join(folder, "curves.svg"), "w", encoding="utf-8") as file:
        file.write(svg(rows))
    print("%d epochs and %d readings of the step time in %s" % (len(epochs), len(times), folder))


def main():
    parser = argparse.ArgumentParser(description="Watches a training and collects its results.")
    parser.add_argument("out", help="the training's --out")
    parser.add_argument("--once", action="store_true", help="one line, then end")
    parser.add_argument("--every", type=float, default=30, help="seconds between lines (default 30)")
    parser.add_argument("--collect", metavar="FOLDER", help="write what was measured there")
    options = parser.parse_args()
    if options.collect:
        collect(options.out, options.collect)
        return
    while True:
        rows = read_metrics(options.out)
        print(line(rows), flush=True)
        if options.once or is_done(rows):
            return
        time.sleep(options.every)


if __name__ == "__main__":
    main()
