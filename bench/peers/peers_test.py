"""`peers` with checkouts that are none: each says how it was called and leaves results as its peer does."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
# The words that the script is called with; then what it leaves.
FAKES = {
    "tiresias": ("simulator", "run_sim.py", "import os, sys\nlog = [w[11:] for w in sys.argv if w.startswith('--log_path=')][0]\n"
                 "spec = [w[15:] for w in sys.argv if w.startswith('--cluster_spec=')][0]\n"
                 "assert open(spec).read().splitlines()[1] == '1,2,4,128,256', 'nodes and GPUs'\n"
                 "assert '--schedule=dlas-gpu' in sys.argv and os.path.exists('run_sim.py'), 'where its files are'\n"
                 "os.mkdir(log)\nopen(log + '/job.csv', 'w').write('time,job_id,JCT\\n9,a,100\\n9,b,200\\n')\n"),
    "gavel": ("scheduler", "scripts/drivers/simulate_scheduler_with_trace.py",
              "import sys\nassert sys.argv[sys.argv.index('-c') + 1] == '8:0:0'\n"
              "print('Average job completion time: 150.000 seconds (0.04 hours)')\n"),
    "lucid": ("simulation", "simulator.py", "import os, sys\nlog = sys.argv[sys.argv.index('-l') + 1] + '/Venus_Sept/vc'\n"
              "os.makedirs(log)\nopen(log + '/lucid_consolidate_vc_log.csv', 'w').write('job,jct\\na,100\\nb,200\\n')\n"),
    "pollux": ("simulator", "simulator.py", "print('Average JCT: 0')\nprint('Average JCT: 150.0')\n"),
}
# Ours: leaves two jobs of 50 s and 100 s.
OURS = ("#!/usr/bin/env python3\nimport os, sys\nout = sys.argv[sys.argv.index('--out') + 1]\nos.mkdir(out)\n"
        "open(out + '/jobs.csv', 'w').write('policy,repetition,state,submit_s,end_s\\n'\n"
        "    'p,0,finished,0,50\\np,0,finished,10,110\\np,0,failed,0,9\\nq,0,finished,0,7\\n')\n")


class Peers(unittest.TestCase):
    def run_peers(self, peer, *words, fake=None):
        folder, name, script = FAKES[peer]
        with tempfile.TemporaryDirectory() as made:
            root = pathlib.Path(made)
            (root / "there" / folder / name).parent.mkdir(parents=True)
            (root / "there" / folder / name).write_text(fake or script)
            (root / "there" / "jobs").write_text("")
            (root / "ours").write_text(OURS)
            (root / "ours").chmod(0o700)
            return subprocess.run([PEERS, peer, "--checkout", root / "there", "--trace", "jobs", "--nodes", "2", "--gpus", "4",
                                   "--program", root / "ours", "--python", sys.executable, *words], capture_output=True, text=True)

    def test_each_peer_is_called_and_read(self):
        for peer, jobs in (("tiresias", "2"), ("gavel", ""), ("lucid", "2"), ("pollux", "")):
            with self.subTest(peer):
                done = self.run_peers(peer, *([] if peer in ("tiresias", "gavel") else ["--scenario", "same.json"]))
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
                self.assertEqual([rows[1][3].strip(), rows[1][4]], [jobs, "150.0 |"])
                self.assertEqual(rows[2][3:], ["2", "75.0 |"])
                self.assertIn("mean completion 0.5000 times theirs", done.stdout)

    def test_what_is_not_there_is_said(self):
        done = self.run_peers("pollux")
        self.assertIn("--scenario names a scenario of the same jobs", done.stderr)
        done = self.run_peers("gavel", fake="print('nothing of interest')\n")
        self.assertIn("ended without a mean completion time", done.stderr)
        done = self.run_peers("tiresias", "--trace", "no such file")
        self.assertIn("no such trace", done.stderr)


if __name__ == "__main__":
    unittest.main()
