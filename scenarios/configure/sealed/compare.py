#!/usr/bin/env python3
"""How static-isotonic does against each other policy, over the results folders that are named (docs/evidence/configuration.md).

A line for each folder: savings against manual and the share of the oracle's; then, over all folders, how much cheaper it is than
each other policy in the mean of logarithms, and at least, by one-sided bounds that hold for all of them together with 95 %
(Student's t, Bonferroni).

`--fewer`: results of the same scenarios, in the same order, where fewer jobs share what is measured; the bounds then hold for
both together. A policy that did not run there measures as much whoever shares it, and pays for it in proportion.
"""

import argparse
import json
import math
import pathlib

OWN, BASE, BEST = "static-isotonic", "manual", "oracle"


def t_quantile(probability, freedom):
    scale = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)

    def below(x, parts=2000):
        step = x / parts
        weights = ((1 if i in (0, parts) else 4 if i % 2 else 2) * (1 + (i * step)**2 / freedom)**(-(freedom + 1) / 2)
                   for i in range(parts + 1))
        return 0.5 + scale * step / 3 * sum(weights)

    low, high = 0, 20
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < probability else (low, middle)
    return low


def read(folder):
    rows = {}
    for row in json.loads((pathlib.Path(folder) / "summary.json").read_text())["policies"]:
        rows[row["policy"]] = (row["effective_cost_usd"]["mean"], row["limits_broken"]["mean"], row["profiling_cost_usd"]["mean"])
    return rows


def reuse(folder):
    return json.loads((pathlib.Path(folder) / "scenario.json").read_text())["profiling_reuse_jobs"]


def with_fewer(folder, results, fewer):
    """What every policy costs where fewer jobs share what is measured."""
    dearer = reuse(folder) / reuse(fewer)
    rows = {name: (cost + (dearer - 1) * profiling, broken, dearer * profiling) for name, (cost, broken, profiling) in results.items()}
    rows.update(read(fewer))
    return rows


def tell_savings(folders, results):
    shares = []
    for folder, costs in zip(folders, results):
        base, own, best = costs[BASE][0], costs[OWN][0], costs[BEST][0]
        shares.append((base - own) / (base - best) if best < base else math.nan)
        print(f"{folder}: saves {100 * (1 - own / base):.1f} %, the oracle {100 * (1 - best / base):.1f} %, "
              f"share {100 * shares[-1]:.0f} %, limits broken {costs[OWN][1]:.1f} ({BASE} {costs[BASE][1]:.1f})")
    shares = [share for share in shares if not math.isnan(share)]
    saved = [sum(costs[BASE][0] - costs[name][0] for costs in results) for name in (OWN, BEST)]
    print(f"share of the oracle's saving: mean {100 * sum(shares) / len(shares):.0f} %, least {100 * min(shares):.0f} %, "
          f"of all money {100 * saved[0] / saved[1]:.0f} %")


def tell_bounds(results, others, quantile):
    for name in others:
        logs = [math.log(costs[OWN][0] / costs[name][0]) for costs in results]
        mean = sum(logs) / len(logs)
        deviation = math.sqrt(sum((value - mean)**2 for value in logs) / (len(logs) - 1))
        bound = mean + quantile * deviation / math.sqrt(len(logs))
        print(f"{name}: cheaper than it by {100 * (1 - math.exp(mean)):.1f} %, at least {100 * (1 - math.exp(bound)):.1f} %, "
              f"cheaper in {sum(value < 0 for value in logs)} of {len(logs)}")


def main():
    options = argparse.ArgumentParser(description="static-isotonic beside each other policy, over results folders")
    options.add_argument("results", nargs="+")
    options.add_argument("--fewer", nargs="+", default=[])
    given = options.parse_args()
    if len(given.results) < 2:
        options.error("at least two results folders")
    if given.fewer and len(given.fewer) != len(given.results):
        options.error("--fewer: as many folders as there are results")
    compared = {"": (given.results, [read(folder) for folder in given.results])}
    if given.fewer:
        pairs = zip(given.results, compared[""][1], given.fewer)
        compared = {f"reuse {reuse(given.results[0]):g}": compared[""],
                    f"reuse {reuse(given.fewer[0]):g}": (given.fewer, [with_fewer(*pair) for pair in pairs])}
    others = [name for name in compared[next(iter(compared))][1][0] if name not in (OWN, BEST)]
    quantile = t_quantile(1 - 0.05 / (len(others) * len(compared)), len(given.results) - 1)
    for title, (folders, results) in compared.items():
        if title:
            print(f"\n{title}")
        tell_savings(folders, results)
        tell_bounds(results, others, quantile)


main()
