#!/usr/bin/env python3
"""How much of the oracle's saving static-isotonic keeps, as a table for docs/evidence/configuration.md.

  scenarios/configure/shares.py design         the twelve scenarios of design/, on which the strategy was designed
  scenarios/configure/shares.py peers          peers.json with seeds 11, 21, 22 and 23, five repetitions
  scenarios/configure/shares.py side-by-side   side-by-side.json with seeds 7, 1, 2 and 3, five repetitions
  scenarios/configure/shares.py FILE...        scenarios of your own

A share is (manual's effective cost - the policy's) / (manual's - the oracle's), profiling included. REHEARSE names the program
(default: ./rehearse). Standard library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = {"static-isotonic": "static-isotonic", "alone": "measurements alone", "static-isotonic-shared": "the thesis's",
         "world": "knows the world"}
POLICIES = ["manual", "static-isotonic", {"name": "alone", "configure": {"name": "static-isotonic", "belief": False}},
            {"name": "static-isotonic", "learner": "thesis"}, "oracle",
            {"name": "world", "configure": {"name": "oracle", "knows": "world"}}]


def scenarios(names):
    """Title, file and settings of each run."""
    if names == ["design"]:
        return [(path.stem, path, []) for path in sorted((HERE / "design").glob("*.json"))]
    known = {"peers": (HERE / "peers.json", (11, 21, 22, 23)), "side-by-side": (HERE.parent / "side-by-side.json", (7, 1, 2, 3))}
    if len(names) == 1 and names[0] in known:
        path, seeds = known[names[0]]
        return [(f"{path.stem}, {seed}", path, [f"/seed={seed}", "/repetitions=5"]) for seed in seeds]
    return [(pathlib.Path(name).stem, pathlib.Path(name), []) for name in names]


def run(path, settings):
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ.get("REHEARSE", "./rehearse"), "run", str(path), "--out", f"{folder}/results",
                   "--set", "/policies=" + json.dumps(POLICIES), "--set", "/baseline=manual"]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rows = json.loads((pathlib.Path(folder) / "results" / "summary.json").read_text())["policies"]
    return {row["policy"]: (row["effective_cost_usd"]["mean"], row["limits_broken"]["mean"]) for row in rows}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="+", metavar="SET|FILE")
    print("| scenario | oracle saves, % | " + " | ".join(SHOWN.values()) + " | limits broken, of *manual* |")
    print("|---" * (len(SHOWN) + 3) + "|")
    shares, broken = [], []
    for title, path, settings in scenarios(options.parse_args().names):
        costs = run(path, settings)
        base, best = costs["manual"][0], costs["oracle"][0]
        shares.append([100 * (base - costs[name][0]) / (base - best) for name in SHOWN])
        broken.append((costs["static-isotonic"][1], costs["manual"][1]))
        print(f"| {title} | {100 * (1 - best / base):.1f} | " + " | ".join(f"{share:.1f}" for share in shares[-1]) +
              " | {:.1f}, {:.1f} |".format(*broken[-1]), flush=True)
    columns = list(zip(*shares))
    print("| mean | | " + " | ".join(f"{sum(column) / len(column):.1f}" for column in columns) +
          " | {:.1f}, {:.1f} |".format(*(sum(column) / len(broken) for column in zip(*broken))))
    print("| least | | " + " | ".join(f"{min(column):.1f}" for column in columns) + " | |")


main()
