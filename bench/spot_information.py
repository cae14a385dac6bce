#!/usr/bin/env python3
"""What foretells whether spot capacity comes or goes in the next ten minutes.

Tables of how often it does, by what is known of a zone, learned from the other zones of the V100 series or from the zone itself,
in nats of surprise a day: less is better. What lowers them can be learned; what does not, no policy can use.
Needs the optional data: REHEARSE_DATA names their folder.
"""
import collections
import csv
import math
import os

STEP_S = 600
A_DAY = 86400 // STEP_S
AGES = (2, 5, 10, 20, 40, 80, 160, 320)  # steps; as the classes of staged-rl
LAST_RUNS = (3, 12, 48)  # steps
BEHIND = 20  # visits that the coarser table is worth


def read_series(path):
    """Whether a node is there, step by step, by (date, zone)."""
    spells = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["gpu"] == "v100" and row["gpus_per_node"] == "1":
                spells[row["start_date"], row["zone"]].append(
                    (float(row["time_s"]), float(row["length_s"]), int(row["available_nodes"]) > 0))
    series = {}
    for key, of_zone in spells.items():
        up = [False] * int(sum(length for _, length, _ in of_zone) // STEP_S)
        for begin, length, is_up in of_zone:
            for step in range(int(begin // STEP_S), min(len(up), int((begin + length) // STEP_S))):
                up[step] = is_up
        series[key] = up
    return series


def moments(series, key):
    """What is known at each step, and whether the zone changes in the next one."""
    up = series[key]
    others = [of for other, of in series.items() if other[0] == key[0] and other != key]
    age = last = 0
    recent = days = 0.5
    for step, is_up in enumerate(up[:-1]):
        if step > 0 and is_up != up[step - 1]:
            last, age = age, 0
        elif step > 0:
            age += 1
        recent += (is_up - recent) / 36
        days += (is_up - days) / (2 * A_DAY)
        yield {"up": is_up, "age": sum(age > end for end in AGES), "hour": step // 36 % 4, "weekend": step // A_DAY % 7 >= 5,
               "recent": int(recent * 3.99), "days": int(days * 3.99), "last": sum(last > end for end in LAST_RUNS),
               "others": sum(of[step] for of in others if step < len(of))}, is_up != up[step + 1]


def surprise(known, taught_by, tried_on, names):
    """Nats, and steps."""
    def count(parts):
        counts = collections.defaultdict(lambda: [0, 0])
        for key in taught_by:
            for what, changes in known[key]:
                entry = counts[tuple(what[name] for name in parts)]
                entry[0] += 1
                entry[1] += changes
        return counts

    tables = [(parts, count(parts)) for parts in (("up",), ("up", "age"), names)]
    nats = steps = 0
    for key in tried_on:
        for what, changes in known[key]:
            chance = 0.05
            for parts, counts in tables[:1] if names == ("up",) else tables:
                seen, changed = counts[tuple(what[name] for name in parts)]
                chance = (changed + BEHIND * chance) / (seen + BEHIND)
            nats -= math.log(chance if changes else 1 - chance)
            steps += 1
    return nats, steps


def main():
    series = read_series(os.path.join(os.environ["REHEARSE_DATA"], "spot_traces", "availability.csv"))
    known = {key: list(moments(series, key)) for key in series}
    zones = sorted({zone for _, zone in series})
    print(f"{'known beside up or down':28} {'others teach':>12} {'itself':>8}")
    for more in ((), ("age",), ("age", "hour"), ("age", "weekend"), ("age", "others"), ("age", "last"), ("age", "recent"),
                 ("age", "days")):
        sums = [0.0] * 4
        for zone in zones:
            tried = [key for key in series if key[1] == zone]
            for at, taught in ((0, [key for key in series if key[1] != zone]), (2, tried)):
                nats, steps = surprise(known, taught, tried, ("up", *more))
                sums[at] += nats
                sums[at + 1] += steps
        print(f"{', '.join(more) or 'nothing':28} {sums[0] / sums[1] * A_DAY:12.2f} {sums[2] / sums[3] * A_DAY:8.2f}")


if __name__ == "__main__":
    main()
