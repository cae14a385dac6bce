"""Random jobs, generators and traces of a scenario, and a history of past runs."""


def entries(draw):
    """The list `jobs`: jobs, now and then a generator or a trace beside or instead of them."""
    rng = draw.rng
    jobs = []
    if not draw.chance(0.15):
        date = 0
        for number in range(rng.choice([1, 2, 3, 4, 6, 9, 14, 22])):
            date += 0 if draw.chance(0.3) else rng.choice([0.5, 60, 1000, 7200])
            jobs.append(job(draw, f"j{number}", date))
        if draw.chance(0.25):
            depend(draw, jobs)
    if not jobs or draw.chance(0.2):
        jobs.append(generator(draw))
    if draw.chance(0.2):
        jobs.append(trace(draw))
    return jobs


def job(draw, name, date):
    rng = draw.rng
    drawn = {"job_id": name, "submit_s": date}
    if draw.chance(0.6):
        drawn["user"] = rng.choice(draw.users)
    pool = rng.choice(draw.pools)
    most = max(p["nodes"] * p["workers"] for p in draw.pools)
    part = draw.chance(0.2) and any(p["gpus"] for p in draw.pools)
    kind = rng.choice(["rigid", "steps", "epochs", "target", "target"])
    if kind == "rigid":
        drawn["gpus"] = rng.randint(1, max(1, most // 2)) if part else rng.randint(1, most)
        drawn["duration_s"] = round(rng.uniform(1, 20000), 3)
    else:
        with_accuracy = kind == "target"
        model(draw, drawn, with_accuracy)
        if kind == "steps":
            drawn["steps"] = rng.randint(1, 5000)
            drawn["batch_size"] = rng.choice([8, 32, 64, 100, 256])
        elif kind == "epochs":
            drawn["epochs"] = rng.randint(1, 12)
        else:
            drawn["target_accuracy"] = round(rng.uniform(0.2, 0.8), 3)
            if draw.chance(0.3):
                drawn["epochs"] = rng.randint(1, 30)
            if draw.chance(0.2):
                drawn["stop"] = draw.number("job", "stop")
        if draw.chance(0.2):
            drawn["gpus"] = 1 if part else rng.randint(1, most)
        for key, probability in (("precision", 0.2), ("lr_rule", 0.2), ("objective", 0.25)):
            if draw.chance(probability):
                drawn[key] = draw.number("job", key)
        # Floors are drawn below what pairs reach without one.
        if "target_accuracy" not in drawn and draw.chance(0.1):
            drawn["recipe"] = rng.choice(["sgd-warmup", "lars-smoothing", "adam"])
    if part:
        drawn["gpu_fraction"] = round(rng.uniform(0.05, 1), 2)
    if draw.chance(0.12) and drawn.get("gpus", 1) <= pool["nodes"] * pool["workers"] and (pool["gpus"] or not part):
        drawn["pool"] = pool["name"]
    if kind == "rigid" and not part and draw.chance(0.2):
        drawn["nodes"] = rng.randint(1, pool["nodes"])
        drawn["gpus"] = drawn["nodes"] * rng.randint(1, pool["workers"])
    if "pool" not in drawn and kind in ("rigid", "epochs") and draw.chance(0.12):
        named = [pool["name"]] + [p["name"] for p in draw.pools if p is not pool and draw.chance(0.5)]
        drawn["pool"] = [{"name": p, "speed": round(rng.uniform(0.2, 3), 2)} if kind == "rigid" and draw.chance(0.6) else p for p in named]
    if draw.chance(0.4):
        drawn["deadline_s"] = round(rng.uniform(100, 200000), 1)
        if draw.chance(0.3):
            drawn["on_deadline"] = draw.number("job", "on_deadline")
    if draw.chance(0.15):
        drawn["cost_limit_usd"] = round(rng.uniform(0.01, 50), 3)
    if draw.chance(0.3):
        drawn["priority"] = rng.randint(-3, 3)
    if draw.chance(0.15):
        drawn["walltime_s"] = round(rng.uniform(60, 100000), 1)
    if draw.chance(0.15):
        drawn["checkpoint_interval_s"] = rng.choice([300, 3600.5])
        drawn["checkpoint_write_s"] = rng.choice([0, 2, 30])
    return drawn


def model(draw, drawn, with_accuracy):
    rng = draw.rng
    if draw.own_models and draw.chance(0.5):
        drawn["model"] = draw.own_models[0]
    elif with_accuracy:
        drawn["model"], drawn["dataset"] = rng.choice(draw.registry.pairs)
    else:
        drawn["model"] = rng.choice(draw.registry.models)


def depend(draw, jobs):
    """`after`, and what becomes of a job whose predecessor fails."""
    known = draw.schema.resolved(draw.schema.definitions["job"])["properties"]
    for number in range(1, len(jobs)):
        if draw.chance(0.4):
            before = draw.rng.sample(jobs[:number], draw.rng.randint(1, min(3, number)))
            jobs[number]["after"] = [other["job_id"] for other in before]
            if "after_failed" in known and draw.chance(0.4):
                jobs[number]["after_failed"] = draw.number("job", "after_failed")


def generator(draw):
    rng = draw.rng
    drawn = {"generate": draw.number("generator", "generate"), "count": rng.randint(1, 12)}
    if draw.chance(0.5):
        drawn["arrivals_per_hour"] = rng.choice([0.5, 5, 60])
    if draw.chance(0.3):
        drawn["deadline_factor"] = [round(rng.uniform(0.3, 2), 2), round(rng.uniform(2, 8), 2)]
    if draw.chance(0.3):
        drawn["accuracy_slack"] = [0.001, round(rng.uniform(0.002, 0.1), 3)]
    if draw.chance(0.15) and any(p["gpus"] for p in draw.pools):
        drawn["gpu_fraction"] = round(rng.uniform(0.1, 1), 2)
    if draw.chance(0.3):
        pairs = rng.sample(draw.registry.pairs, min(3, len(draw.registry.pairs)))
        drawn["models"] = [{"model": m, "dataset": d, **({"recurrent": True} if draw.chance(0.3) else {})} for m, d in pairs]
    return drawn


def trace(draw):
    """A file of jobs: ours, or in the columns of ElasticFlow or the Standard Workload Format."""
    rng = draw.rng
    kind = rng.choice(["native", "native", "elasticflow-rigid", "elasticflow-elastic", "swf"])
    most = max(p["nodes"] * p["workers"] for p in draw.pools)
    dates = sorted(rng.randint(0, 40000) for _ in range(rng.randint(1, 8)))
    if kind == "native":
        keys = ["job_id", "submit_s", "user", "gpus", "duration_s", "deadline_s", "priority", "gpu_fraction"]
        parts = ["", "", 0.25, 0.4, 1] if any(p["gpus"] for p in draw.pools) else [""]
        rows = [[f"t{n}", date, rng.choice(draw.users), rng.randint(1, most), rng.randint(1, 9000), rng.choice(["", 5000, 90000]), rng.choice(["", 1, 2]), rng.choice(parts)] for n, date in enumerate(dates)]
        text = ",".join(keys) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    elif kind == "swf":
        text = "; UnixStartTime: 0\n" + "".join(
            f"{n + 1} {date} 0 {rng.randint(1, 9000)} {rng.randint(1, most)} -1 -1 {rng.randint(1, most)} 9000 -1 1 {rng.randint(1, 3)} 1 1 1 1 -1 -1\n" for n, date in enumerate(dates))
    else:
        text = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
        for n, date in enumerate(dates):
            gpus, duration = rng.choice([g for g in (1, 2, 4, 8) if g <= most]), rng.randint(100, 9000)
            text += f"{n},{date},{rng.randint(100, 9000)},{rng.choice(['resnet50', 'vgg16', 'bert'])},{date + 3 * duration},{gpus * 16},{gpus},{duration}\n"
    drawn = {"trace": draw.file(f"trace.{'swf' if kind == 'swf' else 'csv'}", text), "format": kind}
    if draw.chance(0.2):
        drawn["keep_origin"] = True
    return drawn


def history(draw):
    """A file of past runs. Only some of the models and instances: strategies must do without the others."""
    rng = draw.rng
    columns = "model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy"
    rows = []
    for model_name, dataset in rng.sample(draw.registry.pairs, min(3, len(draw.registry.pairs))):
        for pool in draw.pools:
            for _ in range(rng.randint(1, 6)):
                rows.append(f"{model_name},{dataset},{pool['instance']},{rng.choice([1, 2, 4])},{rng.choice([32, 128, 512])},50000,{rng.choice([1, 2, 8, 30])},{rng.randint(100, 90000)},{rng.uniform(0.1, 0.9):.3f}")
    return columns + "\n" + "\n".join(rows) + "\n"
