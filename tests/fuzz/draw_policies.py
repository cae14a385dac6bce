"""Random policies: bundles of the strategies that the program lists, with parameters by the schema, and processes in Python."""
import os

HERE = os.path.dirname(__file__)
EXAMPLES = os.path.join(HERE, "..", "..", "python", "examples")
# An example of a process for a decision; it is copied beside the scenario.
PROCESSES = {"configure": ["manual.py", "my_policy.py"], "queue": ["fifo.py"]}
# What keeps a run short. Others are drawn over all of the schema's range.
RANGES = {"evaluations": (1, 40), "groups": (2, 12), "networks": (10, 30), "rounds": (5, 40), "depth": (1, 5), "initial": (1, 5),
          "samples": (1, 4), "stride": (1, 16), "levels": (1, 5), "round_s": (60, 1e5), "lease_s": (60, 1e5), "slot_s": (10, 1e5), "requeue_s": (0, 1e5), "switch_s": (0, 1e4),
          "reinitialisation_s": (0, 100), "threshold_device_s": (10, 1e6), "quantum_device_s": (10, 1e6), "patience_s": (0, 1e5), "ratio": (1.5, 100), "promote_after": (0, 100),
          "ageing_per_hour": (0, 1000)}
# What a node's graph costs to place by default, for strategies that search.
COSTLY = {"annealing": {"evaluations": 30, "groups": 8}, "exact": {"groups": 3}, "rl": {"evaluations": 16, "groups": 6},
          "rl-refined": {"evaluations": 16, "groups": 6}, "rl-transfer": {"evaluations": 16, "groups": 6}}
# Parameters that name files, or have a shape of their own.
OWN_SHAPE = {"agent", "partitions", "services", "weights"}
# With fewer evaluations than it takes this one refuses to answer.
LEFT_OUT = {("exact", "evaluations"), ("exact", "groups")}


def policies(draw):
    rng = draw.rng
    drawn = []
    for number in range(rng.choice([1, 2, 2, 3, 4])):
        names = draw.registry.strategies["configure"]
        if draw.chance(0.25):
            name = rng.choice(names)
            if not any(name == (p if isinstance(p, str) else p["name"]) for p in drawn):
                drawn.append(name)
                continue
        drawn.append(policy(draw, f"P{number}"))
    return drawn


def policy(draw, name):
    rng = draw.rng
    made = {"name": name}
    for decision, probability in (("configure", 0.7), ("place", 0.3), ("threads", 0.3), ("queue", 0.85)):
        if draw.chance(probability):
            made[decision] = strategy(draw, decision)
    if draw.chance(0.15):
        made["free"] = rng.sample(["pool", "workers", "batch"], rng.randint(1, 3))
    if isinstance(made.get("configure"), dict) and "process" in made["configure"]:
        made.pop("free", None)
    return made


def strategy(draw, decision):
    rng = draw.rng
    if decision == "configure" and len(draw.pools) > 1 and draw.chance(0.12):
        return process(draw, HERE, "pools.py")
    if decision in PROCESSES and draw.chance(0.07):
        return process(draw, EXAMPLES, rng.choice(PROCESSES[decision]))
    name = rng.choice(draw.registry.strategies[decision])
    parameters = {}
    for key, node in draw.schema.strategy_parameters(decision, name).items():
        if key not in OWN_SHAPE and (name, key) not in LEFT_OUT and draw.chance(0.35):
            low, high = RANGES.get(key, (None, None))
            value = draw.schema.draw(node, rng, low, high)
            if value is not None:
                parameters[key] = value
    parameters = {**COSTLY.get(name, {}), **parameters}
    known = draw.schema.strategy_parameters(decision, name)
    if "partitions" in known and draw.chance(0.2):
        parameters["partitions"] = partitions(draw)
    if "weights" in known and draw.chance(0.4):
        parameters["weights"] = {user: round(rng.uniform(0.1, 5), 2) for user in draw.users if draw.chance(0.7)}
    if "services" in known and draw.chance(0.2):
        parameters["services"] = {str(job): round(rng.uniform(1, 1e5)) for job in range(rng.randint(1, 20))}
    return {"name": name, **parameters} if parameters or draw.chance(0.2) else name


def process(draw, folder, script):
    with open(os.path.join(folder, script), encoding="utf-8") as file:
        return {"process": ["python3", draw.file(script, file.read())], "timeout_s": 30}


def partitions(draw):
    rng = draw.rng
    named = rng.sample(draw.users, rng.randint(0, len(draw.users)))
    made = [{"name": f"of-{user}", "users": [user], "quota": quota(draw)} for user in named]
    if not made or draw.chance(0.7):
        made.append({"name": "others", "quota": quota(draw)})
    return made


def quota(draw):
    drawn = {pool["name"]: draw.rng.randint(1, pool["nodes"]) for pool in draw.pools if draw.chance(0.8)}
    return drawn or {draw.pools[0]["name"]: draw.pools[0]["nodes"]}
