#!/usr/bin/env python3
"""Random valid scenarios over the whole schema: the same seed and program, the same scenario.

    generate.py --program build/release/cli/rehearse --seed 1 --count 5 --out FOLDER

Strategies, models, instances and formats are those that the program lists, and parameters and limits those of its schema, so that a
new one is drawn without an edit here. A scenario is small: a few jobs to some tens, well under a second in a release build.
"""
import argparse
import json
import os
import random
import subprocess

import draw_jobs
import draw_policies
import draw_rarer
import draw_studies
from schema import Schema

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Registry:
    """What the program lists."""

    def __init__(self, program):
        def listed(what):
            return json.loads(subprocess.run([program, "list", what, "--json"], capture_output=True, text=True, check=True).stdout)

        self.strategies = {}  # decision: names, in the order of the program
        self.parameters = {}  # (decision, name): parameters
        for row in listed("strategies"):
            key = row["kind"], row["strategy"]
            if key not in self.parameters:
                self.strategies.setdefault(row["kind"], []).append(row["strategy"])
                self.parameters[key] = []
            if row["option"]:
                self.parameters[key].append(row["option"])
        models = listed("models")
        self.models = [row["model"] for row in models]
        # (model, dataset) whose accuracy is modelled
        self.pairs = [(row["model"], dataset) for row in models for dataset in filter(None, row["datasets_modelled"].split(", "))]
        self.instances = []
        for row in listed("instances"):
            gpus, has_gpu = 1, False
            for part in row["devices"].split(", "):
                count, device = part.split(" x ")
                if not device.startswith(("xeon", "epyc", "knl", "cpu")):
                    gpus, has_gpu = int(count), True
            self.instances.append({"name": row["instance"], "spot": row["spot_price_usd_per_hour"] is not None, "workers": gpus,
                                   "gpus": has_gpu})
        self.studies = [row["study"] for row in listed("studies")]
        self.stacks = [row["stack"] for row in listed("stacks")]


class Generator:
    """Draws one scenario. `files` are those that it names, by their path beside it."""

    def __init__(self, schema, registry, seed):
        self.schema, self.registry = schema, registry
        self.rng = random.Random(f"scenario {seed}")
        self.files = {}
        self.pools = []  # {"name", "instance", "nodes", "workers", "gpus"}
        self.users = ["ann", "bob", "eve"][: self.rng.randint(1, 3)]
        self.own_models = []

    def chance(self, probability):
        return self.rng.random() < probability

    def number(self, definition, key, low=None, high=None):
        """A value of a definition's key, within its limits in the schema."""
        return self.schema.draw(self.schema.resolved(self.schema.definitions[definition])["properties"][key], self.rng, low, high)

    def some(self, definition, probability=0.4, ranges=None, leave_out=()):
        """An object with some of a definition's keys of simple types."""
        drawn = {}
        for key, node in self.schema.resolved(self.schema.definitions[definition])["properties"].items():
            low, high = (ranges or {}).get(key, (None, None))
            if key not in leave_out and self.chance(probability):
                value = self.schema.draw(node, self.rng, low, high)
                if value is not None:
                    drawn[key] = value
        return drawn

    def availability(self, nodes):
        """Ends with all nodes, so that nobody waits for ever."""
        dates = sorted(self.rng.sample(range(1, 200_000), self.rng.randint(1, 6)))
        steps = [{"time_s": date, "available_nodes": self.rng.randint(0, nodes)} for date in dates[:-1]]
        drawn = {"steps": steps + [{"time_s": dates[-1], "available_nodes": nodes}]}
        if self.chance(0.5):
            drawn["repeat_s"] = dates[-1] + self.rng.randint(50_000, 200_000)
        if self.chance(0.5):
            drawn["offset_s"] = self.rng.randint(0, dates[-1])
        return drawn

    def file(self, name, text):
        self.files[name] = text
        return name

    def scenario(self):
        rng = self.rng
        scenario = {"name": "generated", "seed": rng.randrange(10**6)}
        if self.chance(0.3):
            scenario["policy_seed"] = rng.randrange(10**6)
        if self.chance(0.35):
            scenario["repetitions"] = rng.randint(2, 3)
        scenario["cluster"] = self.cluster()
        if self.chance(0.25):
            scenario.update(self.own_workload())
        scenario["jobs"] = draw_jobs.entries(self)
        scenario["policies"] = draw_policies.policies(self)
        names = [p if isinstance(p, str) else p["name"] for p in scenario["policies"]]
        if self.chance(0.5):
            scenario["baseline"] = rng.choice(names)
        self.rules(scenario)
        if self.chance(0.12):
            draw_studies.make_study(self, scenario)
        return scenario

    def rules(self, scenario):
        """Everything at top level that is not the cluster, the jobs or the policies."""
        top = self.schema.root["properties"]
        for key in ("billing", "infeasible"):
            if self.chance(0.5):
                scenario[key] = self.schema.draw(top[key], self.rng)
        if any("target_accuracy" in job for job in scenario["jobs"]) or any("target_accuracy" in str(text) for text in self.files.values()):
            scenario.setdefault("infeasible", "best-effort")  # floors may be above what can be reached
        if scenario.get("billing") == "node":  # an empty node is given back at once
            for pool in scenario["cluster"].get("pools", []):
                for key in ("min_nodes", "idle_s"):
                    pool.get("autoscale", {}).pop(key, None)
        if self.chance(0.04):  # it takes a process and thousands of messages
            scenario["network_solver"] = "simgrid"
        if self.chance(0.3):
            scenario["profiling_reuse_jobs"] = self.schema.draw(top["profiling_reuse_jobs"], self.rng, 1, 1000)
        if self.chance(0.6):
            scenario["world"] = {"model_error": 0} if self.chance(0.4) else self.some("world_errors", 0.4)
            if self.chance(0.2):
                scenario["world"] = self.schema.draw(self.schema.definitions["named_world"], self.rng)
        if self.chance(0.5):
            scenario["switching"] = self.some("switching", 0.4, {
                "preload_bytes_per_s": (1e8, 1e12), "collect_s": (0, 600), "start_s": (0, 600), "checkpoint_s": (0, 300),
                "restore_bytes_per_s": (1e7, 1e12), "parameter_server_usd_per_hour": (0, 10), "warmup_epochs": (0, 5)})
            if self.chance(0.5):
                scenario["switching"]["rigid_jobs"] = self.chance(0.8)
        if self.chance(0.3):
            scenario["stages"] = self.some("stages", 0.7, {"count": (1, 6)})
        if self.chance(0.3):
            scenario["manual"] = self.manual()
        if self.chance(0.5):
            scenario["history"] = {"runs": self.rng.randint(1, 12), **({"noise": self.number("history", "noise", 0, 0.5)} if self.chance(0.4) else {})}
            if self.chance(0.15):
                scenario["history"]["file"] = self.file("history.csv", draw_jobs.history(self))
        if self.chance(0.25):
            scenario["measure"] = self.some("measure", 0.6, {"warmup_s": (0, 5000), "until_s": (10000, 1e6)})
        self.life(scenario)
        if self.chance(0.25):
            models = self.registry.models + self.own_models
            scenario["sharing"] = self.some("sharing", 0.7, {"default_slowdown": (1, 3)})
            scenario["sharing"]["interference"] = [
                {"models": [a, b], "slowdown": [round(self.rng.uniform(1, 3), 2)] * 2 if a == b else [round(self.rng.uniform(1, 3), 2) for _ in "12"]}
                for a, b in [(self.rng.choice(models), self.rng.choice(models)) for _ in range(self.rng.randint(0, 3))]]
        # Mostly what the books look at.
        scenario["output"] = {"report": self.chance(0.1), "nodes": "all", "events": self.rng.choice(["all", "all", "first"]), "decisions": "all",
                              "stages": "all", "predictions": "all", "utilization": "all", "life": "all", "curves": self.rng.choice(["all", "none"])}
        if self.chance(0.25):
            scenario["output"].update(self.some("output", 0.2, leave_out=("events", "report", "timeline", "max_timeline_jobs")))

    def life(self, scenario):
        """What happens to nodes, and what is saved of the work. Rare enough that a run ends."""
        rng = self.rng
        if self.chance(0.3):
            checkpoint = self.some("checkpoint", 0.5, {"interval_s": (60, 1e5), "write_s": (0.001, 60)})
            if "interval" in checkpoint:
                checkpoint.pop("interval_s", None)
                checkpoint["write_s"] = max(checkpoint.get("write_s", 0), 1.0)
            scenario["checkpoint"] = checkpoint
        if self.chance(0.25):
            scenario["failures"] = {"mtbf_s": float(rng.choice([2e4, 1e5, 1e6])), **self.some("failures", 0.5, {
                "repair_s": (60, 7200), "max_restarts": (0, 20)}, leave_out=("mtbf_s", "file", "shape"))}
            if scenario["failures"].get("law") == "weibull" and self.chance(0.7):
                scenario["failures"]["shape"] = self.number("failures", "shape", 0.5, 3)
            if self.chance(0.3):
                pool = rng.choice(self.pools)
                rows = "".join(f"{pool['name']}/{rng.randrange(pool['nodes'])},{rng.randint(0, 90000)},{rng.randint(1, 9000)}\n" for _ in range(rng.randint(1, 6)))
                scenario["failures"]["file"] = self.file("failures.csv", "node,time_s,down_s\n" + rows)
                if self.chance(0.5):
                    scenario["failures"].pop("mtbf_s")
                    scenario["failures"] = {key: scenario["failures"][key] for key in ("file", "max_restarts") if key in scenario["failures"]}
        if self.chance(0.2):
            scenario["stragglers"] = {"between_s": float(rng.choice([3600, 5e4])), "lasts_s": float(rng.choice([60, 3600])), "speed": round(rng.uniform(0.1, 1), 2)}
        if self.chance(0.2):
            scenario["maintenance"] = []
            for pool in rng.sample(self.pools, rng.randint(1, len(self.pools))):
                window = {"pool": pool["name"], "start_s": rng.randint(0, 100000), "duration_s": rng.randint(60, 20000)}
                if self.chance(0.5):
                    window["announced_s"] = rng.randint(0, 7200)
                if self.chance(0.5):
                    window["first_node"] = rng.randrange(pool["nodes"])
                    window["nodes"] = rng.randint(1, pool["nodes"] - window["first_node"])
                if self.chance(0.2):
                    window["every_s"] = window.get("announced_s", 0) + window["duration_s"] + rng.randint(20000, 200000)
                scenario["maintenance"].append(window)

    def manual(self):
        rng = self.rng
        manual = self.some("manual", 0.3, {"workers": (1, 4), "batch_size": (16, 1024), "learning_rate": (1e-3, 1), "servers": (1, 4)}, leave_out=("pool", "servers"))
        if self.chance(0.3):
            manual["pool"] = rng.choice(self.pools)["name"]
        if manual.get("sync", "ring") != "ring" and self.chance(0.5):
            manual["servers"] = rng.randint(1, 4)
        if "workers" in manual:  # what any of the pools holds
            manual["workers"] = min(manual["workers"], min(pool["nodes"] * pool["workers"] for pool in self.pools))
        return manual

    def series(self, name, level, last=None):
        """A few steps around a level; the last one as given."""
        rng, times = self.rng, [0]
        for _ in range(rng.randint(0, 6)):
            times.append(times[-1] + rng.randint(600, 40000))
        values = [round(level * rng.uniform(0.3, 2), 4) for _ in times]
        if last is not None:
            values[-1] = last
        if self.chance(0.25):
            rows = "".join(f"{time},{value}\n" for time, value in zip(times, values))
            return {"file": self.file(name, "time_s,value\n" + rows)}
        return {"steps": [{"time_s": time, "value": value} for time, value in zip(times, values)]}

    def cluster(self):
        rng, cluster = self.rng, {}
        own = []
        if self.chance(0.25):
            own = self.own_hardware(cluster)
        if self.chance(0.3):
            cluster["network"] = self.some("network", 0.7, {"oversubscription": (1, 16), "nodes_per_rack": (1, 6)})
        if self.chance(0.25):
            cluster["carbon_g_per_kwh"] = self.series("carbon.csv", 300)
        if self.chance(0.2):
            cluster["storage_bandwidth_bytes_per_s"] = float(rng.choice([1e8, 1e9, 1e11]))
        cluster["pools"] = []
        for number in range(rng.choice([1, 1, 2, 2, 3])):
            instance = rng.choice(own) if own and self.chance(0.5) else rng.choice(self.registry.instances)
            nodes = rng.randint(1, max(1, 12 // instance["workers"] + 1))
            pool = {"name": f"p{number}", "instance": instance["name"], "nodes": nodes}
            if instance["spot"] and self.chance(0.4):
                pool["pricing"] = "spot"
            if self.chance(0.2):
                pool["prices_usd_per_hour"] = self.series(f"prices-{number}.csv", 2, last=1.0)
            if pool.get("pricing") == "spot" and self.chance(0.6):
                pool["spot"] = self.some("spot", 0.5, {"mean_up_s": (5e4, 1e6), "down_s": (60, 3600), "warning_s": (0, 600)}, leave_out=("bid_usd_per_hour", "availability"))
                if self.chance(0.4):
                    pool["spot"]["availability"] = self.availability(nodes)
                if "prices_usd_per_hour" in pool:  # a price above the bid for ever would leave jobs waiting for ever
                    pool["spot"]["bid_usd_per_hour"] = round(rng.uniform(1.0, 3), 3)
            if self.chance(0.2):
                pool["autoscale"] = self.some("autoscale", 0.6, {"min_nodes": (0, nodes), "boot_s": (0, 600), "idle_s": (0, 3600)})
            cluster["pools"].append(pool)
            self.pools.append({**pool, "workers": instance["workers"], "gpus": instance["gpus"]})
        return cluster

    def own_hardware(self, cluster):
        rng = self.rng
        ranges = {"memory_bytes": (4e9, 1e11), "memory_bandwidth_bytes_per_s": (1e10, 3e12), "multiprocessors": (4, 200),
                  "cores": (1, 128), "sockets": (1, 4), "threads_per_core": (1, 4), "core_bandwidth_bytes_per_s": (1e9, 1e11)}
        watts = {"idle_w": 25, "busy_w": rng.randint(60, 700)}

        def device(name, kind):
            extra = self.some("device", 0.3, ranges, leave_out=("name", "kind", "idle_w", "busy_w", "source"))
            if self.chance(0.2):
                extra["efficiency"] = self.some("efficiency", 0.4, {
                    **{key: (0.05, 1) for key in ("conv", "gemm", "rnn", "fp16", "bandwidth")}, "k_half": (0, 500),
                    **{key: (1e-7, 1e-3) for key in ("launch_s", "repeat_s", "host_s_per_op")}})
            if kind == "cpu" and self.chance(0.2):
                extra["threading"] = self.some("threading", 0.4, {"cores_per_tile": (1, 4), "tile_cache_bytes": (1e5, 1e8)})
            if kind == "gpu" and self.chance(0.2):
                extra["power"] = {"running_w": 30, "clock_w": 40, "arithmetic_w": 80, "memory_w": 20}
            if self.chance(0.3):
                extra.update(watts)
            return {"name": name, "kind": kind, "peak_flops": {"fp32": float(f"{10 ** rng.uniform(11, 14.5):.3g}")}, **extra}

        cluster["devices"] = [device("card", "gpu"), device("host", "cpu")]
        count = rng.choice([1, 2, 4, 8])
        boxes = [{"name": "box", "devices": [{"device": "card", "count": count}, {"device": "host"}], "price_usd_per_hour": round(rng.uniform(0.1, 20), 2)},
                 {"name": "plain", "cpu": "host", "price_usd_per_hour": round(rng.uniform(0.1, 5), 2), "memory_bytes": 1e11}]
        for box in boxes:
            box.update(self.some("instance", 0.25, {
                "cpu_share": (0.25, 1), "overlap": (1, 10), "server_bytes_per_s": (1e8, 1e11), "server_overlap": (1, 10),
                "storage_bandwidth_bytes_per_s": (1e7, 1e10), "spot_price_usd_per_hour": (0.01, 5)},
                leave_out=("name", "cpu", "vcpus", "memory_bytes", "price_usd_per_hour", "host_idle_w", "host_busy_w", "source")))
            if self.chance(0.3):
                box["network"] = {"bandwidth_bytes_per_s": float(rng.choice([1e8, 1e9, 1e10])), "latency_s": 1e-5}
        if self.chance(0.3):  # as a catalogue file instead
            cluster["catalogues"] = [self.file("catalogue.json", json.dumps({"devices": cluster.pop("devices"), "instances": boxes}))]
        else:
            cluster["instances"] = boxes
        return [{"name": box["name"], "spot": "spot_price_usd_per_hour" in box, "workers": count if box["name"] == "box" else 1, "gpus": box["name"] == "box"} for box in boxes]

    def own_workload(self):
        rng = self.rng
        dataset = {"name": "photos", "training_samples": rng.randint(1000, 200000), "validation_samples": rng.randint(10, 20000)}
        batch = rng.choice([16, 64, 128, 500])
        structures = {
            "cnn": self.some("cnn", 0.3, {"conv_layers": (1, 8), "filters": (1, 64), "kernel": (1, 5), "layers_per_pool": (1, 4), "dense_layers": (0, 3),
                                          "nodes": (1, 512), "image_height": (8, 64), "image_width": (8, 64), "channels": (1, 4), "classes": (1, 100)}),
            "rnn": self.some("rnn", 0.3, {"layers": (1, 3), "hidden": (1, 256), "steps": (1, 20), "vocabulary": (0, 2000), "features": (1, 64), "classes": (1, 500)}),
            "mlp": self.some("mlp", 0.5, {"inputs": (1, 1000), "layers": (0, 4), "nodes": (1, 512), "classes": (1, 100)})}
        if "kernel" in structures["cnn"]:
            structures["cnn"]["kernel"] |= 1  # blocks with branches want odd ones
        kind = rng.choice(sorted(structures))
        model = {"name": "small", "dataset": "photos", "global_batch": batch, **self.some("model", 0.4, {"bytes_per_sample": (0, 1e6)}, leave_out=("name", "global_batch", "dataset")), kind: structures[kind]}
        ceiling = round(rng.uniform(0.5, 0.99), 3)
        convergence = {"model": "small", "dataset": "photos", "reference_batch": batch, "reference_epochs": rng.randint(2, 40),
                       "noise_scale": [{"progress": 150, "samples": 400}, {"progress": 3000, "samples": 2000}],
                       "phases": [{"start_progress": 0, "ceiling": ceiling, "scale": 300, "exponent": 1}],
                       **self.some("convergence", 0.2, {"reference_learning_rate": (0.001, 1), "reference_rate_fraction": (0.2, 1), "rate_exponent": (0.5, 1),
                                                        "start_accuracy": (0, 0.2), "gap_batch": (1e3, 1e9)},
                                   leave_out=("model", "dataset", "metric", "source", "reference_batch", "reference_epochs"))}
        self.own_models = ["small"]
        return {"datasets": [dataset], "models": [model], "convergence": [convergence]}


def generate(schema, registry, seed):
    """The scenario and the files beside it."""
    generator = Generator(schema, registry, seed)
    scenario = generator.scenario()
    generator.rng = random.Random(f"rarer {seed}")
    if generator.chance(0.8 if "study" in scenario else 0.4):  # few scenarios have a study, and each study has options of its own
        draw_rarer.some_of_them(generator, scenario)
    return scenario, generator.files


def write(folder, scenario, files):
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    path = os.path.join(folder, "scenario.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario, file, indent=1)
        file.write("\n")
    return path


def default_schema():
    return Schema(os.path.join(ROOT, "scenarios", "schema", "scenario.schema.json"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default=os.path.join(ROOT, "build/release/cli/rehearse"))
    arguments.add_argument("--seed", type=int, default=1, help="of the first scenario; the others count on")
    arguments.add_argument("--count", type=int, default=1)
    arguments.add_argument("--out", required=True, help="gets a folder for each seed")
    options = arguments.parse_args()
    schema, registry = default_schema(), Registry(options.program)
    for seed in range(options.seed, options.seed + options.count):
        print(write(os.path.join(options.out, str(seed)), *generate(schema, registry, seed)))


if __name__ == "__main__":
    main()
