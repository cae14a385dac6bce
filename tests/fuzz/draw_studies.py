"""Turns a drawn scenario into a small study."""


def make_study(draw, scenario):
    rng = draw.rng
    kind = rng.choice(draw.registry.studies)
    make = MAKERS.get(kind)
    if make is None:  # one that this file does not know is asked with its defaults
        scenario["study"] = kind
        return
    make(draw, scenario)
    for key in ("baseline",) if "policies" not in scenario else ():
        scenario.pop(key, None)


def listed(draw, definition, key, low, high, most=2):
    node = draw.schema.resolved(draw.schema.definitions[definition]["properties"][key]["items"])
    return sorted({draw.schema.draw(node, draw.rng, low, high) for _ in range(draw.rng.randint(1, most))})


def plain_jobs(draw, scenario, count=2):
    """Jobs with a target, which all studies of jobs take; no generators."""
    scenario["jobs"] = []
    for number in range(count):
        model, dataset = draw.rng.choice(draw.registry.pairs)
        scenario["jobs"].append({"job_id": f"s{number}", "model": model, "dataset": dataset, "target_accuracy": 0.4, "deadline_s": draw.rng.choice([20000, 400000])})
    scenario.pop("measure", None)
    scenario["infeasible"] = "best-effort"  # the floor may be above what a pair reaches
    scenario["policies"] = scenario["policies"][:2]
    if scenario.get("baseline") not in [p if isinstance(p, str) else p["name"] for p in scenario["policies"]]:
        scenario.pop("baseline", None)


def learning_curve(draw, scenario):
    scenario["study"] = {"name": "learning-curve", "runs": listed(draw, "learning_curve", "runs", 2, 12), "model_errors": listed(draw, "learning_curve", "model_errors", 0, 0.3)}
    plain_jobs(draw, scenario)
    scenario.pop("history", None)
    scenario.pop("world", None)


def characterise(draw, scenario):
    plain_jobs(draw, scenario)
    scenario.pop("policies")
    scenario["study"] = {"name": "characterise", "workers": [1, 2], "batch_factors": [0.5, 1], "accuracy_slack": [0.02], "deadline_factors": [0.5, 2]}


def frontier(draw, scenario):
    plain_jobs(draw, scenario, 1)
    scenario["study"] = {"name": "frontier", "accuracy_slack": [0.02], "deadline_factors": listed(draw, "frontier", "deadline_factors", 0.3, 5)}


def contributions(draw, scenario):
    plain_jobs(draw, scenario)
    scenario["study"] = {"name": "contributions", "order": draw.rng.sample(["pool", "workers", "batch", "place", "threads"], draw.rng.randint(1, 5))}


def staged(draw, scenario):
    plain_jobs(draw, scenario)
    scenario["policies"] = ["manual", "oracle", "staged-oracle", draw.rng.choice(["staged-greedy", "staged-random", "staged-mpc", "staged-rl"])]
    scenario.pop("baseline", None)
    scenario["study"] = {"name": "staged", "model_errors": [0.1], "switching": [draw.rng.choice([1, 5])]}


def placement(draw, scenario):
    methods = [name for name in draw.registry.strategies.get("placement", []) if draw.chance(0.3)] or ["random-search"]
    graphs = draw.rng.sample(["resnet18", "rnnlm", "resnet32", "alexnet"], draw.rng.randint(1, 2))
    pools = [pool for pool in draw.pools if pool["gpus"]] or draw.pools
    scenario["study"] = {"name": "placement", "graphs": [{"model": graph, "batch": draw.rng.choice([8, 32]), "groups": draw.rng.randint(2, 8)} for graph in graphs],
                         "machines": [{"pool": draw.rng.choice(pools)["name"]}], "methods": methods, "evaluations": draw.rng.randint(1, 30)}
    if draw.chance(0.4):
        scenario["study"]["objectives"] = draw.rng.choice([["makespan"], ["throughput"], ["makespan", "throughput"]])
    keep_for_steps(scenario)


def threads(draw, scenario):
    scenario["cluster"] = {"pools": [{"name": "cpus", "instance": draw.rng.choice(["c5.2xlarge", "c5.18xlarge", "knl-7250"]), "nodes": 1}]}
    scenario["jobs"] = [{"job_id": "t", "model": draw.rng.choice(["resnet18", "alexnet", "resnet32"]), "steps": draw.rng.randint(10, 5000), "batch_size": draw.rng.choice([8, 64])}]
    scenario["study"] = {"name": "threads", "strides": listed(draw, "threads_study", "strides", 1, 16), "noise": draw.rng.choice([0, 0.05])}
    jobs = scenario["jobs"]
    keep_for_steps(scenario)
    scenario["jobs"] = jobs


def search(draw, scenario):
    methods = [name for name in draw.registry.strategies.get("search", []) if draw.chance(0.5)] or ["random-search"]
    space = {"cnn": {"layers": [3, 6], "filters": [8, 16], "kernel": [3], "image": [16]}} if draw.chance(0.5) else {"rnn": {"layers": [1, 2], "hidden": [128, 200]}}
    scenario["study"] = {"name": "search", "space": {**space, "workers": [1], "batch": [64, 128]}, "methods": methods, "evaluations": draw.rng.randint(2, 16),
                         "objectives": draw.rng.sample(["accuracy", "latency", "memory", "training-time", "cost", "energy"], draw.rng.randint(2, 4))}
    keep_for_steps(scenario)


def measured_runs(draw, scenario):
    rng = draw.rng
    to_target = draw.chance(0.3)
    rows = ["model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy,price_usd_per_hour" + (",target_accuracy" if to_target else "")]
    for workers in (1, 2, 4, 8):
        for batch in (32, 128, 512):
            rows.append(f"resnet18,cifar10,p3.2xlarge,{workers},{batch},50000,{rng.randint(2, 30)},{rng.randint(100, 9000)},{rng.uniform(0.3, 0.95):.3f},{3.06 * workers:.2f}" + (",0.3" if to_target else ""))
    table = draw.file("measured.csv", "\n".join(rows) + "\n")
    for key in [key for key in scenario if key not in ("name", "seed", "repetitions")]:
        scenario.pop(key)
    scenario["policies"] = rng.sample(["manual", {"name": "static-isotonic", "learner": "thesis"}, "nearest-run", "oracle", "random-feasible"], 2)
    scenario["study"] = {"name": "measured-runs", "table": table, "fractions": [0.5], "floors": [0.3], "deadlines": [0.7], "reuses": [1, 100], "epochs": rng.choice(["same-end", "choice"])}
    if to_target:
        scenario["study"].pop("floors")
        scenario["study"]["epochs"] = "to-target"


def spot(draw, scenario):
    rng = draw.rng
    zones = ["a", "b", "c", "d"][: rng.randint(2, 4)]
    quantiles = lambda: sorted(round(rng.uniform(0.2, 3), 2) for _ in range(rng.randint(1, 4)))
    for key in [key for key in scenario if key not in ("name", "seed", "repetitions")]:
        scenario.pop(key)
    scenario["study"] = {"name": "spot", "days": 6, "step_s": 600, "work_h": rng.randint(2, 6), "deadlines_h": [rng.randint(8, 12)], "restarts_min": [rng.choice([5, 10, 30])],
                         "jobs": rng.randint(1, 4), "processes": [{"zone": zone, "up_h": quantiles(), "down_h": quantiles()} for zone in zones],
                         "folds": [{"train": zones[:1], "test": zones[1:]}]}


def spot_workers(draw, scenario):
    rng = draw.rng
    for key in [key for key in scenario if key not in ("name", "seed", "repetitions")]:
        scenario.pop(key)
    worlds = [{"up_h": round(rng.uniform(0.5, 6), 2), "down_h": round(rng.uniform(0.5, 6), 2), "slack": round(rng.uniform(1, 4), 2)} for _ in range(rng.randint(1, 2))]
    scenario["study"] = {"name": "spot-workers", "worlds": worlds, "workers": rng.choice([[2], [1, 4], [1, 2, 3]]), "scaling": round(rng.uniform(0.5, 1), 2),
                         "stage_min": rng.choice([20, 30, 60]), "deadline_h": rng.randint(4, 8), "restart_min": rng.choice([0, 3, 10]), "spread": rng.choice([0, 0.5]),
                         "processes": 2, "jobs": rng.randint(1, 3), "training_processes": rng.randint(1, 3), "ablations": rng.choice([False, True])}
    if rng.random() < 0.3:
        scenario["study"].update(batches=[64, 256], reference_batch=rng.choice([64, 128]), step_overhead_samples=rng.choice([0, 16]), noise_scale_samples=[rng.choice([64, 512]), 1024],
                                 noise_phases=rng.randint(1, 3))


def keep_for_steps(scenario):
    """Studies of training steps need a cluster alone."""
    for key in [key for key in scenario if key not in ("name", "seed", "repetitions", "cluster", "study")]:
        scenario.pop(key)
    scenario["cluster"].pop("network", None)


MAKERS = {"learning-curve": learning_curve, "characterise": characterise, "frontier": frontier, "contributions": contributions, "staged": staged,
          "placement": placement, "threads": threads, "search": search, "measured-runs": measured_runs, "spot": spot,
          "spot-workers": spot_workers}
