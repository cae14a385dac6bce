"""The leaderboard from outside: leaderboard_test.py PROGRAM. A policy that has learnt the public worlds by heart is seen in drawn ones; a policy that takes too much
memory or time has no place, and the others have theirs."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1]).resolve()

SCENARIO = {
    "name": "track", "seed": 1, "repetitions": 8,
    "cluster": {"pools": [{"name": "t4", "instance": "g4dn.12xlarge", "nodes": 4}, {"name": "v100", "instance": "p3.8xlarge", "nodes": 4},
                          {"name": "cpu", "instance": "c5.18xlarge", "nodes": 4}]},
    "jobs": [{"generate": "mixed-cnn-rnn", "count": 6, "arrivals_per_hour": 2, "models": [
        {"model": "resnet18", "dataset": "cifar10"}, {"model": "resnet34", "dataset": "cifar10"},
        {"model": "rnnlm", "dataset": "ptb", "recurrent": True}]}],
    "output": {"events": "none"}, "profiling_reuse_jobs": 5000,
    "policies": ["manual", "static-isotonic-shared", "oracle"], "baseline": "manual"}

# What the oracle did with each job of the public worlds; any other job is manual's.
BY_HEART = """import json, sys
table = {key: row for key, *row in json.load(open("table.json"))}
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello": print(json.dumps({"version": 1}), flush=True)
    elif request["type"] == "configure":
        job = request["job"]
        known = table.get("%s %.3f" % (job["model"], job["submit_s"]))
        choice = request["manual"]
        if known:
            pool, workers, batch = known
            choice = {"configuration": {"groups": [{"pool": pool, "workers": workers, "batch_per_worker": batch // workers}]}}
        print(json.dumps({"id": request["id"], "menu": [choice]}), flush=True)
"""
GREEDY = "import sys\nsys.stdin.readline()\nhoard = bytearray(3 << 30)\nhoard[::4096] = b'x' * len(hoard[::4096])\nprint('{\"version\": 1}', flush=True)\n"
LATE = "import time\ntime.sleep(60)\n"

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    suite = folder / "suite"
    suite.mkdir()
    (suite / "suite.json").write_text(json.dumps({"version": "test", "worlds": 16, "tracks": [{"scenario": "track"}]}))
    (suite / "track.json").write_text(json.dumps(SCENARIO))

    def board(*words):
        ended = subprocess.run([program, "leaderboard", "suite", *words], cwd=folder, capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    status, first, errors = board("--out", "first")
    assert status == 0, errors
    assert first.startswith("suite test, SHA-256 "), first
    assert "8 public worlds alone: --seed N draws those that decide" in first, first

    table = []
    with open(folder / "first" / "track-public" / "jobs.csv") as rows:
        for row in csv.DictReader(rows):
            if row["policy"] == "oracle":
                table.append(["%s %.3f" % (row["model"], float(row["submit_s"])), row["pool"], int(row["workers"]), int(float(row["batch_size"]))])
    (folder / "table.json").write_text(json.dumps(table))
    for policy, text, more in (("by-heart", BY_HEART, {}), ("greedy", GREEDY, {}), ("late", LATE, {"timeout_s": 0.5})):
        (folder / f"{policy}.py").write_text(text)
        (folder / f"{policy}.json").write_text(json.dumps({"name": policy, "configure": {"process": ["python3", f"{policy}.py"], **more}}))

    status, scored, errors = board("--seed", "20260301", "--out", "scored", "--policy", "by-heart.json", "--markdown", "page.md")
    assert status == 0, errors
    page = (folder / "page.md").read_text().splitlines()  # a row is one line there
    assert any("| by-heart |" in line and "fitted to the public worlds" in line for line in page), page
    assert sum("fitted to the public worlds" in line for line in page) == 1, page
    assert "fitted to the public worlds" in scored, scored
    again = board("--seed", "20260301", "--out", "scored", "--policy", "by-heart.json")[1]
    assert again == scored

    status, failed, errors = board("--out", "failed", "--policy", "greedy.json", "--policy", "late.json", "--max-memory", "2GB",
                                    "--markdown", "failed.md")
    assert status == 5, (status, failed, errors)
    failed = (folder / "failed.md").read_text().splitlines()
    for policy in ("greedy", "late"):
        assert any(f"| {policy} |" in line and "failed: " in line for line in failed), failed
    assert any("| static-isotonic-shared |" in line and "failed" not in line for line in failed), failed

    status, _, errors = board("--seed", "1")
    assert status == 3 and "another seed than that of the public worlds (1)" in errors, errors

    # A queue without "configure" is compared in more than the queue: its row says so. Four worlds tell nothing, and no interval pretends to.
    queues = [{"name": name, "configure": "static-isotonic-shared", "queue": name} for name in ("fifo", "sjf")]
    (suite / "track.json").write_text(json.dumps({**SCENARIO, "jobs": [{**SCENARIO["jobs"][0], "count": 2}], "policies": queues, "baseline": "fifo"}))
    for own in ({"name": "own", "queue": "sjf"}, {"name": "own", "configure": "static-isotonic-shared", "queue": "sjf"}):
        (folder / "own.json").write_text(json.dumps(own))
        status, scored, errors = board("--worlds", "4", "--policy", "own.json", "--out", "queues")
        assert status == 0, errors
        assert ('"configure" is manual, the suite\'s is static-isotonic-shared' in scored) == ("configure" not in own), scored
        assert "too few worlds" in scored and "2 worlds are too few to say what chance does: --worlds 8 or more" in scored, scored
print("ok")
