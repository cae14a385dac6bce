"""What few users write, added to a scenario that is drawn already: from draws of its own, so that a scenario to which nothing is added stays what its seed made it."""
import math


def some_of_them(draw, scenario):
    """One to three of them. Studies leave out half of what is here: they get options of their own."""
    if isinstance(scenario.get("study"), dict):
        for key, value in STUDIES.get(scenario["study"]["name"], {}).items():
            if draw.chance(0.5):
                scenario["study"].setdefault(key, value(draw))
        change = CHANGES.get(scenario["study"]["name"])
        if change is not None:
            change(draw, scenario)
    elif "study" not in scenario:
        for add in draw.rng.sample(ADDITIONS, draw.rng.choice([1, 1, 2, 3])):
            add(draw, scenario)


def by_magnitude(draw, low, high):
    return float(f"{math.exp(draw.rng.uniform(math.log(low), math.log(high))):.3g}")


def trainings(scenario):
    return [job for job in scenario["jobs"] if "model" in job]


def resampled(draw, scenario):
    """Repetitions of other blocks of arrivals, of which there is more than one. Jobs may then not wait for others."""
    dated = [job for job in scenario["jobs"] if "submit_s" in job]
    span = max((job["submit_s"] for job in dated), default=0) - min((job["submit_s"] for job in dated), default=0)
    if span == 0:
        return
    if span < 100_000:
        for job in dated:
            job["submit_s"] *= 200_000 // span
        span *= 200_000 // span
    scenario["resample"] = "blocks"
    scenario["resample_block_s"] = by_magnitude(draw, 3600, 0.9 * span)
    if draw.chance(0.8):
        scenario["repetitions"] = draw.rng.randint(2, 4)
    for job in scenario["jobs"]:
        job.pop("after", None)
        job.pop("after_failed", None)


def reference(draw, scenario):
    """One that somebody would use: yardsticks are refused."""
    usable = [policy for policy in scenario["policies"] if not any(word in str(policy) for word in ("oracle", "random", "median"))]
    if usable:
        chosen = draw.rng.choice(usable)
        scenario["reference"] = chosen if isinstance(chosen, str) else chosen["name"]
        if isinstance(chosen, dict):
            chosen["policy_seed"] = len(scenario["jobs"])
    if draw.chance(0.5):
        scenario["limits_margin"] = draw.rng.choice([0, 0.001, 0.05, 1])


def minimum_node(draw, scenario):
    scenario["billing"] = "node"
    scenario["minimum_node_s"] = draw.rng.choice([1, 60, 3600, 1e5])
    for pool in scenario["cluster"]["pools"]:
        for key in ("min_nodes", "idle_s"):
            pool.get("autoscale", {}).pop(key, None)


def habits(draw, scenario):
    """Of the users, by model."""
    manual = scenario.setdefault("manual", {})
    if draw.chance(0.5):
        manual["batch_size"] = draw.rng.choice(["publication", 16, 100, 1024])
    models = sorted({job["model"] for job in trainings(scenario)})
    if models and draw.chance(0.7):
        manual["by_model"] = {model: habit(draw) for model in draw.rng.sample(models, min(2, len(models)))}


def habit(draw):
    chosen = {"pool": draw.rng.choice(["median", "cheapest", "fastest", draw.pools[0]["name"]]), "workers": 1, "batch_size": draw.rng.choice(["publication", 32, 256]),
              "learning_rate": by_magnitude(draw, 1e-3, 1), "sync": draw.rng.choice(["ring", "servers-sync", "servers-async"])}
    kept = {key: value for key, value in chosen.items() if draw.chance(0.5)}
    if kept.get("sync", "ring") != "ring" and draw.chance(0.5):
        kept["servers"] = draw.rng.randint(1, 4)
    return kept


def patient_jobs(draw, scenario):
    """Gradient accumulation, and targets that are to be read more than once."""
    for job in trainings(scenario):
        if draw.chance(0.5):
            job["max_accumulation"] = draw.rng.choice([2, 8, 64, 1024])
        if "target_accuracy" in job and draw.chance(0.5):
            job["readings"] = draw.rng.randint(1, 5)


def later(draw, scenario):
    for entry in scenario["jobs"]:
        if "generate" in entry:
            entry["first_submit_s"] = by_magnitude(draw, 1, 1e6)
        if "trace" in entry:
            entry["on_contradiction"] = "drop"


def software(draw, scenario):
    """What trains on GPUs that nobody has measured: the program's, or the user's own."""
    cluster, rng = scenario["cluster"], draw.rng
    if draw.chance(0.5):
        cluster["stack"] = rng.choice(draw.registry.stacks)
        return
    cluster["stacks"] = [{"name": "mine", **draw.some("stack", 0.5, {"time_factor": (0.2, 5), "launch_s": (1e-6, 1e-3), "host_s_per_op": (1e-6, 1e-3), "step_overhead_s": (0, 0.1)},
                                                      leave_out=("name", "source"))}]
    cluster["stack"] = "mine"


def measured_devices(draw, scenario):
    """Peaks, power and corrections of the user's own devices."""
    for device in scenario["cluster"].get("devices", []):
        peak = device["peak_flops"]
        for key in ("fp16", "tf32"):
            if device["kind"] == "gpu" and draw.chance(0.5):
                peak[key] = float(f"{peak['fp32'] * draw.rng.uniform(1, 16):.3g}")
        if device["kind"] == "gpu" and draw.chance(0.6):
            device["power"] = draw.some("power", 0.5, {key: (0, 60) for key in ("running_w", "arithmetic_w", "memory_w", "clock_w", "launch_w")})
        if draw.chance(0.6):
            pairs = draw.rng.sample(draw.registry.pairs, 2) + [(model, "photos") for model in draw.own_models]
            device["corrections"] = [correction(draw, model, dataset) for model, dataset in dict(pairs).items()]


def correction(draw, model, dataset):
    drawn = {"model": model, **draw.some("correction", 0.5, {**{key: (0.2, 5) for key in ("time_factor", "launch_factor", "power_factor")}, "loader_s": (0, 0.01)},
                                         leave_out=("model", "dataset"))}
    if draw.chance(0.5):
        drawn["dataset"] = dataset
    if draw.chance(0.4):
        drawn["batches"] = [{"batch": batch, "factor": round(draw.rng.uniform(0.5, 2), 2)} for batch in sorted(draw.rng.sample([1, 16, 64, 300], 2))]
    return drawn


def described_instances(draw, scenario):
    for instance in scenario["cluster"].get("instances", []):
        if draw.chance(0.6):
            instance["inside"] = {"bandwidth_bytes_per_s": by_magnitude(draw, 1e8, 1e12), "latency_s": 1e-6, "contention": round(draw.rng.uniform(-1, 2), 2)}
        if draw.chance(0.6):
            instance.update({"host_idle_w": 40, "host_busy_w": draw.rng.choice([40, 300])})
        if draw.chance(0.4):
            instance.update({"provider": draw.rng.choice(["own", "gcp", "a cloud"]), "region": "here", "price_date": draw.rng.choice(["2026", "2026-03", "2026-03-20"]), "vcpus": 8})


def measured_types(draw, scenario):
    """A table of throughputs, and jobs of its types."""
    rng, types = draw.rng, ["type A", "type-b", "c"][: draw.rng.randint(1, 3)]
    rows = []
    for kind in types:
        for workers in (1, 2, 4):
            rate = by_magnitude(draw, 0.05, 100)
            rows.append(f"{kind},{workers},64,{rate},,")
            if draw.chance(0.4):
                rows.append(f"{kind},{workers},64,{by_magnitude(draw, 0.05, 100)},{rng.choice(draw.pools)['name']},")
        for partner in types:
            if draw.chance(0.5):
                rows.append(f"{kind},1,64,{by_magnitude(draw, 0.01, 100)},,{partner}")
    scenario["throughputs"] = draw.file("throughputs.csv", "job_type,workers,batch,steps_per_s,pool,partner\n" + "\n".join(rows) + "\n")
    for number in range(rng.randint(1, 6)):
        job = {"job_id": f"m{number}", "submit_s": rng.randint(0, 20000), "job_type": rng.choice(types), "steps": rng.randint(1, 100000), "batch_size": 64}
        if draw.chance(0.4):
            job["gpus"] = 1
            if draw.chance(0.6) and any(pool["gpus"] for pool in draw.pools):
                job["gpu_fraction"] = rng.choice([0.25, 0.5])
        if draw.chance(0.3):
            job["deadline_s"] = rng.randint(100, 100000)
        scenario["jobs"].append(job)


def own_recipe(draw, scenario):
    """Of trainings that reach what jobs want, where it says how far they go."""
    recipe = {"name": "mine", **draw.some("recipe", 0.6, leave_out=("name", "source"))}
    pairs = sorted({(job["model"], job["dataset"]) for job in trainings(scenario) if "dataset" in job})
    if pairs and draw.chance(0.6):
        recipe["outcomes"] = [{"model": model, "dataset": dataset, "reference_batch": draw.rng.choice([32, 256]), "epochs": draw.rng.randint(5, 100), "final_accuracy": 0.95,
                                **draw.some("recipe_outcome", 0.4, {"reference_learning_rate": (1e-3, 1), "critical_batch_factor": (0.1, 10)},
                                            leave_out=("model", "dataset", "reference_batch", "epochs", "final_accuracy", "source"))}
                               for model, dataset in pairs]
    scenario["recipes"] = [recipe]
    for job in trainings(scenario):
        if ("target_accuracy" not in job or "outcomes" in recipe) and draw.chance(0.5):
            job["recipe"] = "mine"


def training_in_phases(draw, scenario):
    for entry in scenario.get("convergence", []):
        for knot in entry["noise_scale"]:
            if draw.chance(0.5):
                knot["batch_exponent"] = round(draw.rng.uniform(0, 2), 2)
        for phase in entry["phases"]:
            if draw.chance(0.5):
                phase["ceiling_loss"] = round(draw.rng.uniform(0, 1), 2)
        if draw.chance(0.5):
            last = entry["phases"][-1]
            entry["phases"].append({**last, "start_progress": 600, "ceiling": round(min(1, last["ceiling"] * draw.rng.uniform(0.9, 1.1)), 3)})
        entry["metric"] = "accuracy"


ADDITIONS = [resampled, reference, minimum_node, habits, patient_jobs, later, software, measured_devices, described_instances, measured_types, own_recipe, training_in_phases]


def placed(draw, scenario):
    for number, graph in enumerate(scenario["study"]["graphs"]):
        if graph["model"] == "rnnlm" and draw.chance(0.9):
            graph.update({"granularity": "tensorflow", "layers": draw.rng.randint(1, 2), "hidden": 64, "steps": draw.rng.randint(1, 8), "vocabulary": 100})
        elif draw.chance(0.4):
            graph["gradient_sum"] = draw.rng.choice(["in-place", "add-n"])
        if draw.chance(0.4):
            graph["name"] = f"graph {number}"
        if graph["model"].startswith("resnet") and draw.chance(0.4):
            graph["dataset"] = "cifar10"
    for number, machine in enumerate(scenario["study"]["machines"]):
        pool = next(pool for pool in draw.pools if pool["name"] == machine["pool"])
        machine.update({key: value for key, value in {"name": f"machine {number}", "gpus": draw.rng.randint(0, pool["workers"] if pool["gpus"] else 0), "dispatch": by_magnitude(draw, 0.01, 100),
                                                      "executors": draw.rng.randint(1, 4)}.items() if draw.chance(0.4)})


def searched(draw, scenario):
    """Spaces of some pools, and searches whose trainings are jobs of the cluster."""
    space = scenario["study"]["space"]
    for key in ("pools", "deploy"):
        if draw.chance(0.4):
            space[key] = [draw.rng.choice(draw.pools)["name"]]
    if draw.chance(0.4):
        space["epochs"] = draw.rng.randint(1, 20)
    if draw.chance(0.4):
        scenario["study"]["workload"] = draw.some("search_workload", 0.4, {"submit_s": (0, 10000), "priority": (-3, 3)}, leave_out=("user",))
        if draw.chance(0.5):
            scenario["study"]["workload"]["user"] = draw.rng.choice(draw.users)
        scenario["policies"] = ["manual", {"name": "shortest", "queue": "srtf"}][: draw.rng.randint(1, 2)]
        scenario["jobs"] = [{"job_id": f"r{number}", "submit_s": 600 * number, "gpus": 1, "duration_s": draw.rng.randint(60, 9000)} for number in range(draw.rng.randint(1, 4))]


def claimed(draw, scenario):
    names = [policy if isinstance(policy, str) else policy["name"] for policy in scenario["policies"]]
    if len(names) > 1:
        scenario["study"]["claims"] = [{"policy": names[0], "over": names[1], "percent": draw.rng.choice([-1000, 0, 12.5, 100])}]


def priced(draw, scenario):
    """Levels of the price, each with its share of the time and what it makes of revocations."""
    if draw.chance(0.5):
        scenario["study"].update({"price_factors": [0.5, 1.5], "price_shares": [0.4, 0.6], "revocation_factors": [round(draw.rng.uniform(0.2, 1), 2), 3]})


def bounded(draw, scenario):
    """The bound needs folds that try one zone each."""
    if draw.chance(0.4):
        for fold in scenario["study"]["folds"]:
            fold["test"] = fold["test"][:1]
        scenario["study"]["bound"] = True


CHANGES = {"placement": placed, "search": searched, "frontier": claimed, "spot-workers": priced, "spot": bounded}
STUDIES = {
    "search": {"accuracy_above": lambda d: round(d.rng.uniform(0, 0.6), 2), "gpu_hours": lambda d: by_magnitude(d, 0.1, 1000), "cost_usd": lambda d: by_magnitude(d, 0.1, 1000),
               "targets": lambda d: d.some("search_targets", 0.6, {"latency_s": (1e-4, 1), "search_h": (0.1, 100), "utilization_gain_percent": (0, 50)})},
    "threads": {"granularity": lambda d: d.rng.choice(["layers", "tensorflow"]), "counter_noise": lambda d: round(d.rng.uniform(0, 0.3), 2), "factors": lambda d: sorted(d.rng.sample([0, 0.5, 1, 2], 2))},
    "characterise": {"tolerance": lambda d: round(d.rng.uniform(0, 0.5), 2)},
    "placement": {"sampling_processes": lambda d: d.rng.randint(1, 3)},
    "spot": {"ablations": lambda d: d.chance(0.5), "on_demand_usd_per_hour": lambda d: by_magnitude(d, 0.1, 50), "spot_usd_per_hour": lambda d: by_magnitude(d, 0.05, 20)},
    "spot-workers": {"price_lasts_h": lambda d: by_magnitude(d, 0.1, 100), "on_demand_usd_per_hour": lambda d: by_magnitude(d, 0.1, 50)}}
