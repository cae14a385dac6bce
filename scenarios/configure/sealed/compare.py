#!/usr/bin/env python3
"""How active-isotonic does against each other policy, over the results folders that are named (docs/evidence/configuration.md).

A line for each folder: savings against manual and the share of the oracle's; then, over all folders, how much cheaper it is than
each other policy in the mean of logarithms, and at least, by one-sided bounds that hold for all of them together with 95 %
(Student's t, Bonferroni).
"""

import json
import math
import pathlib
import sys

OWN, BASE, BEST = "active-isotonic", "manual", "oracle"


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
        rows[row["policy"]] = (row["effective_cost_usd"]["mean"], row["limits_broken"]["mean"])
    return rows


def main():
    folders = sys.argv[1:]
    if len(folders) < 2:
        sys.exit("usage: compare.py RESULTS RESULTS...")
    results = [read(folder) for folder in folders]
    shares, others = [], [name for name in results[0] if name not in (OWN, BEST)]
    for folder, costs in zip(folders, results):
        base, own, best = costs[BASE][0], costs[OWN][0], costs[BEST][0]
        shares.append((base - own) / (base - best) if best < base else math.nan)
        print(f"{folder}: saves {100 * (1 - own / base):.1f} %, the oracle {100 * (1 - best / base):.1f} %, "
              f"share {100 * shares[-1]:.0f} %, limits broken {costs[OWN][1]:.1f} ({BASE} {costs[BASE][1]:.1f})")
    shares = [share for share in shares if not math.isnan(share)]
    saved = [sum(costs[BASE][0] - costs[name][0] for costs in results) for name in (OWN, BEST)]
    print(f"share of the oracle's saving: mean {100 * sum(shares) / len(shares):.0f} %, least {100 * min(shares):.0f} %, "
          f"of all money {100 * saved[0] / saved[1]:.0f} %")
    quantile = t_quantile(1 - 0.05 / len(others), len(results) - 1)
    for name in others:
        logs = [math.log(costs[OWN][0] / costs[name][0]) for costs in results]
        mean = sum(logs) / len(logs)
        deviation = math.sqrt(sum((value - mean)**2 for value in logs) / (len(logs) - 1))
        bound = mean + quantile * deviation / math.sqrt(len(logs))
        print(f"{name}: cheaper than it by {100 * (1 - math.exp(mean)):.1f} %, at least {100 * (1 - math.exp(bound)):.1f} %, "
              f"cheaper in {sum(value < 0 for value in logs)} of {len(logs)}")


main()
