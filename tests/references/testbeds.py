"""Published physical clusters: the same jobs, replayed.

testbeds.py PROGRAM [--update]: where REHEARSE_DATA is set, replays the jobs that Gavel's and Pollux' authors ran on their clusters and
holds the order of their policies, and docs/evidence/peers.md, which has every figure beside the published one. --update: writes it."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
DATA = os.environ.get("REHEARSE_DATA", "")
DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "evidence", "peers.md")
OUTPUT = {"events": "none", "timeline": False, "report": False}
# Gavel, OSDI 2020, Table 3: 8 V100, 16 P100, 24 K80; hours on the cluster and in its authors' simulator. Its LAS is blind to pools.
# Pollux, OSDI 2021, Table 2: 16 nodes of 4 T4, mean hours on the cluster; its simulator's code says 2446, 5302 and 3470 s.
PUBLISHED = {
    ("gavel, continuous", "gavel-max-min-like"): (3.4, 3.7), ("gavel, continuous", "gavel-agnostic-like"): (5.1, 5.4),
    ("gavel, static", "gavel-makespan-like"): (17.7, 17.6), ("gavel, static", "gandiva-like"): (21.3, 22.1),
    ("pollux, workload-6", "pollux-like"): (0.76, 2446 / 3600), ("pollux, workload-6", "tiresias-dlas"): (1.2, 3470 / 3600),
    ("pollux, workload-6", "optimus-like"): (1.5, 5302 / 3600),
}
# Of Pollux' applications: our model and data, and what each job does. NCF is none of our models: see ncf_s.
APPLICATIONS = {
    "cifar10": {"model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.94},
    "imagenet": {"model": "resnet50", "dataset": "imagenet", "target_accuracy": 0.75},
    "deepspeech2": {"model": "deepspeech2", "dataset": "cmu-arctic", "epochs": 80},
    "yolov3": {"model": "yolov3", "dataset": "voc", "epochs": 50},
    "bert": {"model": "bert", "dataset": "squad", "epochs": 2},
}


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def replayed(program, folder, name, scenario):
    """Of each policy: (mean completion time, end of all), in hours."""
    path, out = os.path.join(folder, name + ".json"), os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"name": name, "seed": 1, "output": OUTPUT, **scenario}, file)
    subprocess.run([program, "run", path, "--out", out], check=True, stdout=subprocess.DEVNULL)
    jobs = {}
    for row in rows_of(os.path.join(out, "jobs.csv")):
        assert row["state"] == "finished", f"{name}, {row['policy']}: {row['job']} is {row['state']}"
        jobs.setdefault(row["policy"], []).append((float(row["submit_s"]), float(row["end_s"])))
    return {policy: (sum(end - begin for begin, end in all_of) / len(all_of) / 3600,
                     (max(end for _, end in all_of) - min(begin for begin, _ in all_of)) / 3600) for policy, all_of in jobs.items()}


def gavel(program, folder, trace, presets):
    table = os.path.join(folder, "gavel.csv")
    subprocess.run([program, "import", "throughputs", "gavel", os.path.join(DATA, "gavel", "physical_cluster_throughputs.json"), "-o",
                    table], check=True, stdout=subprocess.DEVNULL)
    return replayed(program, folder, trace, {
        "throughputs": table, "switching": {"start_s": 0, "checkpoint_s": 0},
        "cluster": {"pools": [{"name": "v100", "instance": "p3.8xlarge", "nodes": 2}, {"name": "p100", "instance": "p3.8xlarge", "nodes": 4},
                              {"name": "k80", "instance": "p2.8xlarge", "nodes": 3}]},
        "jobs": [{"trace": os.path.join(DATA, "gavel", "traces", "physical_cluster", trace + ".trace"), "format": "gavel-measured"}],
        "policies": [{"name": preset, "configure": "oracle", "queue": preset} for preset in presets]})


def ncf_s():
    """Its measured iterations of batch 32,768 on one GPU, one after the other."""
    folder = os.path.join(DATA, "pollux_osdi21", "traces", "ncf")
    steps = [row for row in rows_of(os.path.join(folder, "placements.csv")) if row["placement"] == "1" and row["local_bsz"] == "32768"]
    return float(rows_of(os.path.join(folder, "validation-32768.csv"))[-1]["iteration"]) * float(steps[0]["step_time"])


def pollux(program, folder):
    """Tiresias gets the numbers of GPUs and the batches that its authors tuned; the others choose theirs."""
    jobs = []
    for row in rows_of(os.path.join(DATA, "pollux_osdi21", "workloads", "workload-6.csv")):
        job = {"job_id": row["name"], "submit_s": float(row["time"]), "gpus": int(row["num_replicas"])}
        if row["application"] == "ncf":
            jobs.append({**job, "duration_s": ncf_s()})
        else:
            jobs.append({**job, "batch_size": int(row["batch_size"]), "max_accumulation": 64, "objective": "min-time",
                         **APPLICATIONS[row["application"]]})
    return replayed(program, folder, "pollux", {
        "world": {"model_error": 0}, "jobs": jobs, "switching": {"rigid_jobs": False},
        "cluster": {"pools": [{"name": "t4", "instance": "g4dn.12xlarge", "nodes": 16}]},
        "policies": [{"name": "pollux-like", "configure": "oracle", "queue": "pollux-like"},
                     {"name": "optimus-like", "configure": "oracle", "queue": "optimus-like"},
                     {"name": "tiresias-dlas", "configure": "manual", "queue": "tiresias-dlas"}]})


def main():
    program, update = os.path.abspath(sys.argv[1]), "--update" in sys.argv[2:]
    if not DATA:
        print("skipped, REHEARSE_DATA is not set")
        return 0
    with open(DOCUMENT, encoding="utf-8") as file:
        document = file.read()
    here, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for testbed, of in (("gavel, continuous", lambda presets: gavel(program, folder, "max_min_fairness", presets)),
                            ("gavel, static", lambda presets: gavel(program, folder, "minimize_makespan", presets)),
                            ("pollux, workload-6", lambda _: pollux(program, folder))):
            presets = [preset for bed, preset in PUBLISHED if bed == testbed]
            figures = of(presets)
            for preset in presets:
                here[testbed, preset] = figures[preset][testbed == "gavel, static"]
            for what, ours in (("on the cluster", 0), ("in their simulator", 1)):
                if sorted(presets, key=lambda p: PUBLISHED[testbed, p][ours]) != sorted(presets, key=lambda p: here[testbed, p]):
                    wrong.append(f"{testbed}: not the order of policies {what}")
    for (testbed, preset), (cluster, simulator) in PUBLISHED.items():
        ours = here[testbed, preset]
        row = (f"| {testbed} | `{preset}` | {cluster:.2f} | {simulator:.2f} | {ours:.2f} | {100 * (ours / cluster - 1):+.1f} % | "
               f"{100 * (ours / simulator - 1):+.1f} % |")
        print(row)
        if update:
            document = re.sub(rf"^\| {re.escape(testbed)} \| `{re.escape(preset)}` \|.*$", row, document, flags=re.MULTILINE)
        elif row not in document:
            wrong.append(f"{testbed}, {preset}: docs/evidence/peers.md has another figure")
    if update:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(document)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
