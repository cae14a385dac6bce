"""The templates of docs/guide/ci, by their own steps, on a repository with a policy that is a process: ci_templates.py PROGRAM DOCS"""
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

program, docs = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
try:
    import yaml
except ImportError:
    print("skipped: no yaml module")
    sys.exit(77)

SCENARIO = """{ "name": "own", "repetitions": 3, "world": { "model_error": 0 },
  "cluster": { "pools": [ { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 3, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
  "policies": [ "manual", { "name": "own", "configure": { "process": ["python3", "policy.py"] } } ] }"""
POLICY = """import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello": print(json.dumps({"version": 1}), flush=True)
    elif request["type"] == "configure":
        choice = {"configuration": {"groups": [{"pool": "v100", "workers": WORKERS, "batch_per_worker": 64}]}}
        print(json.dumps({"id": request["id"], "menu": [choice]}), flush=True)
"""


def steps(template):
    """The commands of a template, as one script."""
    if template == "gitlab.yml":
        return "\n".join(yaml.safe_load((docs / template).read_text())["regress"]["script"])
    return yaml.safe_load((docs / template).read_text())["runs"]["steps"][0]["run"]


workflow = yaml.safe_load((docs / "github.yml").read_text())
assert workflow["jobs"]["regress"]["steps"][1]["uses"] == "./.github/actions/rehearse"
for template in ("action.yml", "gitlab.yml"):
    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder)
        (repository / "bin").mkdir()
        (repository / "bin" / "rehearse").symlink_to(program)
        suite = repository / "benchmark"
        suite.mkdir()
        (suite / "suite.json").write_text('{ "scenarios": ["own"], "policy_seeds": 2 }')
        (suite / "own.json").write_text(SCENARIO)
        (suite / "policy.py").write_text(POLICY.replace("WORKERS", "1"))
        environment = dict(os.environ, SUITE="benchmark", GITHUB_STEP_SUMMARY=str(repository / "summary.md"),
                           PATH=f"{repository / 'bin'}:{os.environ['PATH']}")
        run = lambda script: subprocess.run(["bash", "-e", "-c", script], cwd=repository, env=environment,
                                            capture_output=True, text=True)
        recorded = run("rehearse regress benchmark --update --out recording")
        assert recorded.returncode == 0, recorded.stderr
        same = run(steps(template))
        assert same.returncode == 0, (template, same.stdout, same.stderr)
        cases = xml.etree.ElementTree.parse(repository / "regression.xml").getroot().iter("testcase")
        assert {case.get("name") for case in cases} == {"manual", "own"}
        (suite / "policy.py").write_text(POLICY.replace("WORKERS", "8"))
        worse = run(steps(template))
        assert worse.returncode == 4, (template, worse.returncode, worse.stdout, worse.stderr)
        assert "own" in (repository / "regression.md").read_text()
        if template == "action.yml":
            assert "worse" in (repository / "summary.md").read_text()
print("ok")
