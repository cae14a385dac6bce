"""Random command lines that read what was written before: results folders and bundles that were tampered with; and tables of other
people's: traces, measurements, histories, throughputs, prices, ramps, graphs."""
import json
import os

from draw_commands import HERE, INPUTS, options, tampering
from draw_files import network

TABLES = os.path.join(HERE, "tables")
CORPUS = os.path.join(HERE, "corpus")
KINDS_OF_PLOTS = ("savings", "line", "heat", "bars", "tradeoff", "cdf", "choices", "deadlines", "gantt", "queue", "utilization", "learning", "threads", "pareto", "speedup", "errors")
PLOTS_OF_SEVERAL = ("savings", "cdf")  # that take more than one folder
COLUMNS = ("policy", "pool", "model", "jct_mean_s", "cost_usd", "end_s", "time_s", "repetition", "no such")


def results(draw):
    """One run or two, what happens to their files, and who reads them then."""
    rng = draw.rng
    scenario = draw.scenario()
    if draw.chance(0.4):
        scenario["repetitions"] = 2
    case = draw.file("case.json", json.dumps(scenario))
    lines = [["run", case, "--out", "one", "--processes", "1"]]
    readers = rng.choices((explain, compare, report, plot, export, regress, bundle, resume), weights=(3, 3, 2, 3, 2, 2, 2, 2), k=rng.choice([1, 2, 3, 4]))
    second = {compare, regress} & set(readers) or draw.chance(0.2)
    other = ["--set", "/seed=7"] if second and draw.chance(0.7) else []
    tampered = [tampering(draw, "one") for _ in range(rng.choice([0, 1, 1, 1, 2, 8]))]
    read = [line for reader in readers for line in reader(draw, scenario)]
    if second or any("two" in line for line in read):
        lines.append(["run", case, "--out", "two", "--processes", "1", *other])
    return [*lines, *tampered, *read]


def some_policy(scenario):
    """For the command line: one of the scenario's."""
    return lambda rng: rng.choice([policy if isinstance(policy, str) else policy["name"] for policy in scenario.get("policies", ["manual"])])


def some_repetition(scenario):
    """The first, or the last that the scenario has."""
    return lambda rng: rng.choice([0, scenario.get("repetitions", 1) - 1])


def explain(draw, scenario):
    jobs_ = [str(job["job_id"]) for job in scenario.get("jobs", []) if "job_id" in job] or ["mixed-0000", "mixed-0001"]
    return [["explain", "one", draw.rng.choice(jobs_), *options(draw, {"--all": None, "--policy": some_policy(scenario), "--repetition": some_repetition(scenario)})]]


def compare(draw, _):
    others = draw.rng.choice([["two"], ["two", "one"]])
    return [["compare", "one", *others, *options(draw, {"--metric": lambda r: r.choice(COLUMNS)})]]


def report(draw, _):
    return [["report", *draw.rng.choice([["one"], ["one"], ["one", "two"]]), "-o", "page.html", *options(draw, {"--timing": None})]]


def plot(draw, _):
    results_ = draw.rng.choice([["one"], ["one"], ["one", "two"], ["one/jobs.csv"]])
    return [["plot", draw.rng.choice(KINDS_OF_PLOTS if len(results_) == 1 else PLOTS_OF_SEVERAL), *results_, "-o", draw.rng.choice(["plot.svg", "plot.svg", "plot.png"]), *options(draw, {
        "--x": lambda r: r.choice(COLUMNS), "--y": lambda r: r.choice(COLUMNS), "--by": lambda r: r.choice(COLUMNS), "--value": lambda r: r.choice(COLUMNS),
        "--where": lambda r: r.choice(["policy=manual", "repetition=0", "pool=p0", "=", "state="]), "--relative-to": lambda r: r.choice(["manual", "oracle"]),
        "--size": lambda r: r.choice(["one-column", "two-column"]), "--data": lambda _: "drawn"}, 0.15)]]


def export(draw, scenario):
    return [["export", "results", draw.rng.choice(["batsim-jobs", "paje"]), "one", "-o", "exported", *options(draw, {
        "--policy": some_policy(scenario), "--repetition": some_repetition(scenario)})]]


def regress(draw, scenario):
    return [["regress", "two", "--against", "one", *options(draw, {"--markdown": lambda _: "r.md", "--junit": lambda _: "r.xml", "--policy": some_policy(scenario)}, 0.15)]]


def bundle(draw, _):
    figures = draw.file("figures.txt", "".join(f"{kind} RESULTS -o {kind}.svg\n" for kind in draw.rng.sample(KINDS_OF_PLOTS, 2)))
    spoiled = [tampering(draw, "packed") for _ in range(draw.rng.choice([0, 0, 1, 2]))]
    return [["bundle", "one", "-o", "packed", *(["--figures", figures] if draw.chance(0.3) else [])], *spoiled, ["reproduce", "packed", *options(draw, {"-o": lambda _: "remade"}, 0.5)]]


def resume(draw, _):
    return [["run", "case.json", "--out", "one", "--processes", "1", "--resume", *options(draw, {"--csv-safe": None})]]


def tables(draw):
    """A table is read, and what was written of it read again."""
    makers = (steps, trainings, imported, jobs, prices, rates, graphs, histories, throughputs, profiles)
    return draw.rng.choices(makers, weights=(3, 2, 3, 4, 2, 2, 3, 1, 1, 1))[0](draw)


def table(draw, name, folder=TABLES):
    """The name under which it lies beside the command."""
    with open(os.path.join(folder, name), "rb") as file:
        return draw.file(os.path.basename(name), file.read())


def steps(draw):
    rng = draw.rng
    measured = table(draw, "native.csv") if draw.chance(0.6) else table(draw, "steps.csv", INPUTS)
    validate = ["validate", measured, *options(draw, {"--hold-out": lambda r: r.choice(["nothing", "batches", "models", "limits", "devices", "stacks"]),
                                                      "--stack": lambda r: r.choice(["pytorch-1", "named", "none"]), "--rows": lambda _: "errors.csv"}, 0.4)]
    if "--rows" in validate and draw.chance(0.4):
        return [validate, ["plot", "errors", "errors.csv", "-o", "errors.svg"]]
    if draw.chance(0.4):
        return [validate]
    use = rng.choice([["validate", measured, "--catalogue", "mine.json"], ["rent", "resnet50", "--epochs", "1", "--catalogue", "mine.json"],
                      ["graph", "alexnet", "--device", "v100", "--catalogue", "mine.json"], ["split", "resnet50", "--workers", "k80=1", "v100=1", "--batch", "64", "--catalogue", "mine.json"],
                      ["profile", "--sweep", "cnn", "-o", "cnn.csv", "--networks", "5", "--device", "v100", "--catalogue", "mine.json"]])
    return [["calibrate", measured, "-o", "mine.json"], *([tampering(draw, "mine.json")] if draw.chance(0.6) else []), use]


def trainings(draw):
    measured = table(draw, "trainings.csv", INPUTS)
    if draw.chance(0.5):
        return [["validate", measured, *options(draw, {"--hold-out": lambda r: r.choice(["nothing", "batches"]), "--recipe": lambda r: r.choice(["adam", "sgd-warmup"])}, 0.4)]]
    return [["calibrate", measured, "-o", "mine.json"]]


MEASURED = {"gavel": "gavel.json", "tf-benchmarks": "tf.csv", "deepbench": "NV_P100_FP32.csv", "trimtuner": "cnn.csv", "zeus": "summary_power_v100.csv", "neusight": "neusight.csv"}


def imported(draw):
    """Measurements of others, or their trainings."""
    rng = draw.rng
    kind = rng.choice([*MEASURED, "pollux", "trainings"])
    if kind == "trainings":
        format_, name = rng.choice([("zeus", "summary_train.csv"), ("pollux", "validation-128.csv")])
        content = draw.files.pop(table(draw, name))
        line = ["import", "convergence", format_, draw.file(f"cifar10/{name}", content), "-o", "ours.csv"]
    else:
        name = "placements.csv" if kind == "pollux" else MEASURED[kind]
        content = draw.files.pop(table(draw, name))
        line = ["import", "measurements", kind, draw.file(f"imagenet/{name}", content), "-o", "ours.csv", *options(draw, {
            "--device": lambda r: r.choice(["v100", "k80", "none"]), "--instance": lambda r: r.choice(["p3.2xlarge", "none"]), "--precision": lambda r: r.choice(["fp16", "tf32"])}, 0.15)]
    return [line, ["validate", "ours.csv"], *([["calibrate", "ours.csv", "-o", "mine.json"]] if draw.chance(0.5) else [])]


def jobs(draw):
    rng = draw.rng
    format_ = rng.choice(sorted(name for name in os.listdir(CORPUS) if "good" in os.listdir(os.path.join(CORPUS, name))))
    trace = draw.file("trace.csv" if draw.chance(0.5) else "trace", draw.files.pop(table(draw, os.path.join(format_, "good"), CORPUS)))
    of = options(draw, {"--sample": lambda r: r.choice([0, 0.5, 1]), "--seed": lambda r: r.randrange(99), "--from": lambda r: r.choice([0, 1000, "2017-10-07", "2020-01-01"]),
                        "--to": lambda r: r.choice([0, 10**6, "2030-01-01"]), "--scale-load": lambda r: r.choice([0.1, 2, 1000]), "--map-model": lambda r: r.choice(["vgg11=vgg16", "a=", "lm=rnnlm"])}, 0.15)
    read = [["import", "jobs", format_, trace, "-o", "jobs.csv", *of, *options(draw, {"--count": lambda r: r.choice([1, 5]), "--csv-safe": None}, 0.1)]]
    if draw.chance(0.5):
        read = [[*line, *options(draw, {"--format": lambda _: format_}, 0.9), *of] for line in (
            rng.choice([["describe", trace], ["synthesize", trace, "--count", rng.choice(["1", "100"]), "-o", "jobs.csv"], ["export", "jobs", rng.choice(["swf", "batsim"]), trace, "-o", "theirs"]]),)]
    if read[0][0] in ("describe", "export"):
        return read
    again = rng.choice([["describe", "jobs.csv"], ["synthesize", "jobs.csv", "--count", "50", "-o", "like.csv"], ["export", "jobs", rng.choice(["swf", "batsim"]), "jobs.csv", "-o", "theirs"]])
    return [*read, *([tampering(draw, "jobs.csv")] if draw.chance(0.4) else []), again]


def prices(draw):
    listed = table(draw, "prices.csv")
    return [["catalogue", "prices", listed, "-o", "prices.json"], *([tampering(draw, "prices.json")] if draw.chance(0.6) else []),
            ["rent", draw.rng.choice(draw.registry.models), "--epochs", "2", "--catalogue", "prices.json", *options(draw, {"--spot": lambda r: r.choice(["allowed", "only"]), "--regions": lambda r: r.choice(["us", "eu"])})]]


def rates(draw):
    if draw.chance(0.5):
        return [["rate", "--csv", table(draw, "ramp.csv", INPUTS)]]
    model, dataset = draw.rng.choice(draw.registry.pairs)
    return [["rate", model, "--dataset", dataset, *options(draw, {"--batch": lambda r: r.choice([1, 512, 10**9]), "--noise": lambda r: r.choice([0, 0.01, 1]), "--seed": lambda r: r.randrange(99)}, 0.4)]]


def graphs(draw):
    rng = draw.rng
    if draw.chance(0.4):
        format_, name = rng.choice([("pipedream", "pipedream.txt"), ("dnn-partitioning", "partitioning.json")])
        return [["graph", table(draw, name), "--format", format_, *options(draw, {"--groups": lambda r: r.choice([1, 2, 9]), "--dot": lambda _: "graph.dot", "--device": lambda r: r.choice(["v100", "none"])}, 0.3)]]
    line = ["graph", network(draw) if draw.chance(0.4) else rng.choice(draw.registry.models), "--json", "graph.json", "--batch", rng.choice(["1", "64", "1000000000"]), *options(draw, {"--groups": lambda r: r.choice([1, 20]), "--dot": lambda _: "graph.dot"}, 0.3)]
    return [line, *([tampering(draw, "graph.json")] if draw.chance(0.7) else []), ["graph", "graph.json", "--device", rng.choice(["k80", "v100"]), *options(draw, {"--groups": lambda r: r.choice([1, 20])})]]


def histories(draw):
    format_, name = draw.rng.choice([("native", "history.csv"), ("trimtuner", "cnn.csv")])
    return [["import", "history", format_, table(draw, name), "-o", "ours.csv"], *([tampering(draw, "ours.csv")] if draw.chance(0.4) else []), ["import", "history", "native", "ours.csv", "-o", "again.csv"]]


def throughputs(draw):
    format_, name = draw.rng.choice([("native", "throughputs.csv"), ("gavel", "gavel.json"), ("elasticflow", "vgg16.csv")])
    return [["import", "throughputs", format_, table(draw, name), "-o", "ours.csv"], *([tampering(draw, "ours.csv")] if draw.chance(0.4) else []), ["import", "throughputs", "native", "ours.csv", "-o", "again.csv"]]


def profiles(draw):
    rng = draw.rng
    if draw.chance(0.5):
        return [["profile", "--sweep", rng.choice(["cnn", "rnn"]), "-o", "swept.csv", "--networks", "5", "--device", rng.choice(["v100", "k80"]), *options(draw, {"--noise": lambda r: r.choice([0, 1]), "--seed": lambda r: r.randrange(99)})],
                *([tampering(draw, "swept.csv")] if draw.chance(0.4) else []), ["validate", "swept.csv"]]
    workers = [f"{rng.choice(['k80', 'v100', 'p100', 'none'])}={rng.choice([1, 2, 7, 1000])}" for _ in range(rng.randint(1, 3))]
    return [["split", rng.choice(draw.registry.models), "--workers", *workers, "--batch", rng.choice(["1", "128", "1000000"])]]
