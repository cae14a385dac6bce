#!/usr/bin/env python3
"""Every point of every figure over utilization.csv is within what the cluster has and its nodes draw.

  over_time_test.py REHEARSE SOURCE

Runs shipped scenarios and small ones with several decisions at one date, draws each kind, column and series there is, and holds each
point against capacity, watts and jobs. Standard library only; exit status 77 without gnuplot.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SHIPPED = {"quickstart": [], "cluster/priority": [], "cluster/sharing": [], "cluster/deadlines": ["--set", "/repetitions=1"]}
# Two jobs end and two begin at one date, on one node of eight GPUs and on two pools.
SMALL = {
    "one-pool": {"cluster": {"pools": [{"name": "v100", "instance": "p3.16xlarge", "nodes": 1}]},
                 "policies": [{"name": "srtf", "queue": "srtf"}, {"name": "las", "queue": "las"}]},
    "two-pools": {"cluster": {"pools": [{"name": "v100", "instance": "p3.16xlarge", "nodes": 1},
                                        {"name": "t4", "instance": "g4dn.12xlarge", "nodes": 2}]},
                  "policies": [{"name": "srtf", "queue": "srtf"}, {"name": "easy", "queue": "easy"}]},
}
JOBS = [{"job_id": f"{i}", "submit_s": 60 * (i // 4), "gpus": 1 << i % 4, "duration_s": 60 * (1 + i % 5), "pool": ["v100", "t4"][i % 2]}
        for i in range(40)]
QUANTITIES = ("busy_devices", "allocated_devices", "power_w", "queued_jobs", "fragmentation")


def watts():
    """What a node draws with all its devices busy, by instance."""
    read = lambda name: json.loads((SOURCE / f"sim/cluster/catalogue/{name}.json").read_text())
    devices = {device["name"]: device for device in read("devices")["devices"]}
    return {i["name"]: i["host_busy_w"] + sum(d["count"] * devices[d["device"]]["busy_w"] for d in i.get("devices", []))
            for i in read("instances")["instances"]}


def run(*arguments):
    ended = subprocess.run([PROGRAM, *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ended.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {ended.returncode}\n{ended.stderr}")


def series_of(data):
    """The blocks of gnuplot's data: name, and points."""
    for block in data.read_text().split("\n\n\n"):
        lines = block.split("\n")
        names = [line[2:] for line in lines if line.startswith("# ") and line != "# x y"]
        yield names[-1] if names else "", [tuple(map(float, line.split()[:2])) for line in lines if line and not line.startswith("#")]


def wrong_points(results, folder, of_node):
    pools = {p["pool"]: p for p in json.loads((results / "summary.json").read_text())["pools"]}
    devices = {name: p["nodes"] * p["devices_per_node"] for name, p in pools.items()}
    power = {name: p["nodes"] * of_node[p["instance"]] for name, p in pools.items()}
    jobs = {line.split(",")[2] for line in (results / "jobs.csv").read_text().split("\n")[1:] if line}
    most = {"busy_devices": devices, "allocated_devices": devices, "power_w": power,
            "queued_jobs": dict.fromkeys(pools, len(jobs)), "fragmentation": dict.fromkeys(pools, 1)}
    for kind in ("utilization", "queue"):
        for quantity in QUANTITIES:
            for by in ("pool", "policy"):
                name = f"{kind}-{quantity}-{by}"
                plot = ["plot", kind, results, "-o", folder / f"{name}.svg", "--data", folder, "--y", quantity, "--by", by]
                ended = subprocess.run([PROGRAM, *map(str, plot)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                if ended.returncode:
                    if "no points" not in ended.stderr:
                        yield f"{name}: {ended.stderr}"
                    continue
                sums = quantity in ("busy_devices", "allocated_devices", "power_w")
                for series, points in series_of(folder / f"{name}.dat"):
                    limit = most[quantity].get(series, (sum if sums else max)(most[quantity].values()))
                    dates = [x for x, _ in points]
                    if sorted(set(dates)) != dates:
                        yield f"{name}, {series}: a date has several points"
                    yield from (f"{name}, {series}: {y} at {x} h, at most {limit}" for x, y in points if not 0 <= y <= limit * (1 + 1e-6))


def main():
    if shutil.which("gnuplot") is None:
        return 77
    of_node, found = watts(), []
    with tempfile.TemporaryDirectory(prefix="rehearse-over-time-") as name:
        scratch = pathlib.Path(name)
        scenarios = [(shipped.replace("/", "-"), SOURCE / f"scenarios/{shipped}.json", more) for shipped, more in SHIPPED.items()]
        for small, parts in SMALL.items():
            pools = [pool["name"] for pool in parts["cluster"]["pools"]]
            file = scratch / f"{small}.json"
            file.write_text(json.dumps({"name": small, **parts, "jobs": [{**job, "pool": job["pool"] if job["pool"] in pools else pools[0]} for job in JOBS]}))
            scenarios.append((small, file, []))
        for named, file, more in scenarios:
            run("run", file, "--out", scratch / named, *more)
            plots = scratch / f"{named}-plots"
            plots.mkdir()
            found += [f"{named}: {wrong}" for wrong in wrong_points(scratch / named, plots, of_node)]
    print("\n".join(found[:20]) or "every point lies within what there is")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
