"""Random command lines of rent, plan, sweep, train and run with the files that they read: networks, jobs, accounts, measurements, platforms,
policy processes that answer nonsense. A maker takes a Generator, and gives lines."""
import glob
import json
import os

from draw_files import mutated_tags, network
from generate import ROOT
from mutate import at, paths, replaced

INPUTS = os.path.join(ROOT, "tests", "corpus", "inputs")
HERE = os.path.dirname(os.path.realpath(__file__))
TAMPER = "tamper"  # in the place of a command, then a path and a seed: this file, or one of this folder, is mutated where it lies


def tampering(draw, path):
    return [TAMPER, path, draw.rng.randrange(10**6)]


def options(draw, known, probability=0.25):
    """Some of these options, each with a value that `known` draws; None: a flag."""
    words = []
    for name, value in known.items():
        if draw.chance(probability):
            words += [name] if value is None else [name, str(value(draw.rng))]
    return words


def subject(draw):
    """Words for what is trained, and how long."""
    rng = draw.rng
    kind = rng.choice(["accuracy", "accuracy", "epochs", "file", "file", "job"])
    if kind == "accuracy":
        model, dataset = rng.choice(draw.registry.pairs)
        return [model, "--dataset", dataset, "--accuracy", str(round(rng.uniform(0.2, 0.8), 3))]
    if kind == "epochs":
        return [rng.choice(draw.registry.models), "--epochs", str(rng.choice([1, 5, 90, 0.5]))]
    if kind == "file":
        return [network(draw), "--samples", rng.choice(["1000", "50k", "1.2M"]), "--epochs", str(rng.randint(1, 100))]
    return [job_file(draw)]


def job_file(draw):
    rng = draw.rng
    job = {}
    if draw.chance(0.6):
        job["model"], job["dataset"] = rng.choice(draw.registry.pairs)
        if draw.chance(0.7):
            job["target_accuracy"] = round(rng.uniform(0.2, 0.7), 3)
        else:
            job["epochs"] = rng.randint(1, 50)
    else:
        own = draw.own_workload()["models"][0]
        structure = rng.choice([{key: own[key] for key in own if key in ("cnn", "rnn", "mlp")}, {"file": network(draw)}])
        job.update(network=structure, dataset="cifar10", epochs=rng.randint(1, 50))
        if draw.chance(0.3):
            job["dataset"] = {"task": rng.choice(["image-classification", "speech", "translation"]), "training_samples": rng.randint(1, 10**6), "height": 32, "width": 32, "tokens": 30, "frames": 200}
    for key, value in (("deadline_s", rng.choice([60, 86400, 1e7])), ("cost_limit_usd", rng.choice([0.01, 100, 1e6])), ("batch_size", rng.choice([1, 64, 4096])),
                       ("workers", rng.choice([1, 2, 7])), ("objective", rng.choice(["least-energy", "least-cost", "least-time"])), ("samples", rng.choice([1, 1000, 1e9]))):
        if draw.chance(0.2):
            job[key] = value
    if job.get("samples") == 1e9:  # no limit that is drawn is kept then
        job.pop("deadline_s", None)
        job.pop("cost_limit_usd", None)
    return draw.file("job.json", json.dumps(job))


def rent(draw):
    rng = draw.rng
    line = ["rent", *subject(draw), *options(draw, {
        "--deadline": lambda r: r.choice(["1h", "12h", "30d", "90min"]), "--budget": lambda r: r.choice([0, 1, 300, 1e9]), "--confidence": lambda r: r.choice([50, 80, 99.9]),
        "--spot": lambda r: r.choice(["no", "allowed", "only"]), "--spot-mean-up": lambda r: r.choice([0.01, 1, 24, 1e5]), "--regions": lambda r: r.choice(["us", "eu", "us,eu"]),
        "--stack": lambda r: r.choice(["pytorch-1", "none"]), "--precision": lambda r: r.choice(["fp32", "fp32,fp16", "tf32,bf16"]),
        "--clouds": lambda r: r.choice(["aws", "gcp,azure", "lambda,runpod"]), "--nodes": lambda r: r.choice([1, 2, 100, 100000]), "--power-limits": None,
        "--batches": lambda r: r.choice(["1", "256,512", "1000000000"]), "--framework": lambda r: r.choice(["pytorch", "keras"]), "--recipe": lambda r: r.choice(["sgd-warmup", "lars-smoothing", "adam"])})]
    if draw.chance(0.25):
        instances = {instance["name"]: {"nodes": rng.randint(0, 4)} for instance in rng.sample(draw.registry.instances, 3)}
        text = "instances:\n" + "".join(f"  {name}: {{ nodes: {terms['nodes']}, price_usd_per_hour: {rng.choice([0, 1.5])} }}\n" for name, terms in instances.items())
        text += rng.choice(["", "only_listed: true\n", "regions: [us]\ndata: { provider: aws, region: us-east-1 }\negress_usd_per_gb: 0.09\n"])
        line += ["--account", draw.file("account.yaml", text)]
    if draw.chance(0.2):
        name = rng.choice(["p3.2xlarge", "p2.xlarge", "g4dn.xlarge"])
        dates = [f"2025-03-{day:02}T{hour:02}:00:00Z" for day in range(1, 1 + rng.randint(1, 5)) for hour in (0, 12)]
        line += ["--spot-prices", draw.file("spot.csv", "instance,date,price\n" + "".join(f"{name},{date},{rng.uniform(0.1, 3):.3f}\n" for date in dates))]
        line += [] if "--spot" in line else ["--spot", "allowed"]
    if draw.chance(0.2):
        with open(os.path.join(INPUTS, "steps.csv"), encoding="utf-8") as file:
            line += ["--from", draw.file("steps.csv", file.read())]
    line += options(draw, {"--csv": lambda _: "all.csv", "--html": lambda _: "front.html", "--export": lambda _: "training"}, 0.3)
    if draw.chance(0.25):
        rows = "".join(json.dumps({"time_s": 30.0 * line, "step": 100 * line, "of": 100000, "epoch": 0}) + "\n" for line in range(rng.randint(1, 20)))
        resume = ["rent", "--resume", "state.json", "--watch", draw.file("metrics.jsonl", rows)]
        return [line + ["--state", "state.json"], *([tampering(draw, "state.json")] if draw.chance(0.6) else []), resume]
    return [line]


def plan(draw):
    rng = draw.rng
    cluster = draw.cluster()
    cluster.pop("network", None)
    free = {pool["name"]: rng.randint(0, pool["nodes"] * pool["workers"]) for pool in draw.pools if draw.chance(0.4)}
    path = draw.file("cluster.json", json.dumps({"cluster": cluster, **({"free_devices": free} if free else {})}))
    return [["plan", job_file(draw), "--cluster", path, *options(draw, {
        "--stack": lambda r: r.choice(["pytorch-1", "none"]), "--precision": lambda r: r.choice(["fp32", "fp16", "tf32"]), "--framework": lambda r: r.choice(["pytorch", "keras"]),
        "--export": lambda _: "training"})]]


# Values on which no run depends cannot be swept, nor can names by which others know something.
NOT_SWEPT = {"name", "description", "baseline", "repetitions", "output", "policies", "study", "job_id", "user", "users", "pool", "file", "trace", "models"}


def sweep(draw):
    rng = draw.rng
    scenario = draw.scenario()
    while "study" in scenario:
        draw.files.clear()
        draw.pools.clear()
        draw.own_models = []
        scenario = draw.scenario()
    scenario["policies"] = scenario["policies"][:2]
    scenario.pop("baseline", None)
    scenario.pop("repetitions", None)
    swept = [path for path in paths(scenario)[1:] if not NOT_SWEPT & set(path) and isinstance(at(scenario, path), (int, float, str))]
    for path in rng.sample(swept, min(len(swept), rng.choice([1, 1, 2]))):
        value = at(scenario, path)
        axis = {"sweep": [value, value * 2 if isinstance(value, (int, float)) and not isinstance(value, bool) else rng.choice(["fifo", True, "none"])]}
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 and draw.chance(0.4):
            axis = {"sweep": {"from": value, "to": 2 * value, "steps": rng.choice([2, 3]), **({"scale": "log"} if draw.chance(0.5) else {})}}
        scenario = replaced(scenario, path, axis)
    line = ["sweep", draw.file("case.json", json.dumps(scenario)), "--out", "runs.sqlite", "--csv", "rows.csv", "--report", "page.html", "--processes", str(rng.choice([1, 2])),
            *options(draw, {"--retry": None, "--csv-safe": None, "--set": lambda r: f"/seed={r.randrange(99)}"}, 0.15)]
    again = line[:] + (["--retry"] if "--retry" not in line and draw.chance(0.5) else [])
    plot = ["plot", rng.choice(["line", "bars", "heat", "tradeoff"]), "runs.sqlite", "-o", "swept.svg", *options(draw, {"--y": lambda r: r.choice(["cost_usd", "jct_mean_s", "energy_j"])})]
    return [line, *([tampering(draw, "runs.sqlite")] if draw.chance(0.25) else []), *([again] if draw.chance(0.4) else []), *([plot] if draw.chance(0.3) else [])]


def train(draw):
    """Then one run with the agent, which may have been tampered with between. A training runs its jobs some 150 times: rounds of an hour, since a slow
    device makes decades of them."""
    rng = draw.rng
    strategy = rng.choice(["staged-rl", "staged-rl", "staged-shared", "rl-transfer", "rl-transfer"])
    iterations = str(rng.choice([0, 0, 1, 2]))
    if strategy != "rl-transfer":
        scenario = {"name": "train", "seed": rng.randrange(999), "cluster": draw.cluster(), "policies": ["manual"], "infeasible": "best-effort",
                    "jobs": [{"generate": "mixed-cnn-rnn", "count": rng.randint(1, 6), "arrivals_per_hour": rng.choice([0.5, 6])}]}
        trained = [{"name": "trained", "configure": {"name": strategy, "agent": "agent.json"}, **({"queue": {"name": rng.choice(["goodput", "optimus"]), "round_s": 3600}} if strategy == "staged-shared" else {})}]
        used = {**scenario, "policies": trained}
        if strategy == "staged-shared":
            scenario["policies"] = [{**trained[0], "configure": strategy}]
    else:
        pools = draw.cluster()
        graph = {"model": rng.choice(["alexnet", "resnet18", "rnnlm"]), "batch": rng.choice([1, 8]), "groups": rng.randint(1, 6)}
        study = {"name": "placement", "graphs": [graph], "machines": [{"pool": rng.choice(draw.pools)["name"]}], "methods": ["heft"], "evaluations": 1}
        pools.pop("network", None)
        scenario = {"name": "train", "seed": rng.randrange(999), "cluster": pools, "study": study}
        used = {**scenario, "study": {**study, "methods": [{"name": "rl-transfer", "agent": "agent.json"}], "evaluations": rng.randint(1, 6)}}
    lines = [["train", strategy, draw.file("case.json", json.dumps(scenario)), "-o", "agent.json", "--iterations", iterations]]
    if draw.chance(0.6):
        lines.append(tampering(draw, "agent.json"))
    if draw.chance(0.3):
        lines.append(["train", strategy, "case.json", "-o", "more.json", "--iterations", "1", "--resume", "agent.json"])
    return lines + [["run", draw.file("used.json", json.dumps(used)), "--out", "results"]]


def process(draw):
    """An example's answers, now and then spoiled on their way."""
    rng = draw.rng
    scenario = draw.scenario()
    scenario.pop("study", None)
    scenario.setdefault("jobs", [{"gpus": 1, "duration_s": 100}])
    for job in scenario["jobs"]:  # a million epochs on nodes that fail are millions of questions, each to another process
        if job.get("epochs", 0) > 1000:
            job["epochs"] = 1000
    for name in glob.glob(os.path.join(ROOT, "python", "examples", "*.py")) + [os.path.join(HERE, "hostile.py")]:
        with open(name, encoding="utf-8") as file:
            draw.file(os.path.basename(name), file.read())
    hostile = lambda script: {"process": ["python3", "hostile.py", str(rng.randrange(10**6)), str(rng.choice([0.01, 0.1, 0.5])), script], "timeout_s": 2}
    policy = {"name": "hostile"}
    if draw.chance(0.6):
        policy["configure"] = hostile(rng.choice(["manual.py", "my_policy.py"]))
    if "configure" not in policy or draw.chance(0.5):
        policy["queue"] = hostile(rng.choice(["fifo.py", "patient.py"]))
    scenario["policies"] = [policy, "manual"]
    scenario.pop("baseline", None)
    scenario.pop("repetitions", None)
    return [["run", draw.file("case.json", json.dumps(scenario)), "--out", "results", "--processes", str(rng.choice([1, 2]))]]


def run(draw):
    """With what the driver of scenarios leaves out: certificates, limits of memory, pages, values from the command line, platforms."""
    rng = draw.rng
    scenario = draw.scenario()
    if "study" not in scenario and draw.chance(0.4):
        with open(os.path.join(ROOT, "tests", "scenarios", "corpus", "files", "site.xml"), "rb") as file:
            site = file.read()
        scenario = {"cluster": {"platform": draw.file("site.xml", mutated_tags(rng, site) if draw.chance(0.7) else site)}, "seed": rng.randrange(999), "billing": rng.choice(["pool", "node", "allocated"]),
                    "jobs": [{"gpus": rng.randint(1, 8), "duration_s": rng.choice([1, 600, 1e5])}, {"generate": "mixed-cnn-rnn", "count": rng.randint(1, 9), "arrivals_per_hour": rng.choice([1, 60])}],
                    "policies": rng.sample(["manual", "oracle", {"name": "fair", "queue": "fair-share"}, {"name": "easy", "queue": "easy"}, {"name": "packed", "queue": "gandiva-like"}], 2)}
    else:
        scenario["output"] = {"report": True}
        if draw.chance(0.3):
            scenario["output"]["events"] = rng.choice(["all", "none", "first"])
    case = draw.file("case.json", json.dumps(scenario))
    sets = [words for path in rng.sample(paths(scenario)[1:], min(2, len(paths(scenario)) - 1)) if draw.chance(0.2)
            for words in ("--set", "/" + "/".join(map(str, path)) + "=" + json.dumps(at(scenario, path)))]
    line = ["run", case, "--out", "results", "--processes", str(rng.choice([1, 2])), *sets, *options(draw, {
        "--certify": None, "--csv-safe": None, "--watch": None, "--max-memory": lambda r: r.choice(["60MB", "100MB", "1GB"])}, 0.2)]
    return [*([["check", case, *sets]] if draw.chance(0.5) else []), line, *([["run", case, "--out", "results", "--replace"]] if draw.chance(0.1) else [])]
