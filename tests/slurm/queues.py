#!/usr/bin/env python3
"""Queues here beside a real Slurm: jobs that only sleep, on the emulated nodes of private Slurms on this machine, one for each
setting; their history, with the dates of the controller's log, is imported as sacct's, replayed under our preset, and the mean wait of
both is printed.

  tests/slurm/queues.py build/release/cli/rehearse [--jobs 300] [--nodes 16] [--folder FOLDER] [--settings fifo backfill ...]

As root, with slurm-wlm and munge (Debian 12's names); else it ends with status 77: skipped. Everything lies in the folder (a
temporary one by default); one that has records of a setting is replayed without a Slurm. Settings run two at a time: jobs sleep.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# Of each setting: what slurm.conf has, and our preset with the same settings. Waits have no other cause here than the queue: no job
# fails, all nodes are alike. A requeued job waits for cred_expire, its manual says, and by its log a second more.
SETTINGS = {
    'fifo': ('SchedulerType=sched/builtin\nPriorityType=priority/basic', {'name': 'slurm-fifo'}),
    'backfill': ('SchedulerType=sched/backfill\nPriorityType=priority/basic',
                 {'name': 'slurm-backfill', 'backfill_interval_s': 1, 'resolution_s': 1, 'depth': 1000}),
    'multifactor': ('SchedulerType=sched/builtin\nPriorityType=priority/multifactor\nPriorityWeightJobSize=100000\n'
                    'PriorityCalcPeriod=1\nPriorityWeightAge=0\nPriorityFavorSmall=YES',
                    {'name': 'slurm-multifactor', 'weight_fair_share': 0, 'weight_age': 0, 'weight_size': 100000, 'favor_small': True}),
    'preempt': ('SchedulerType=sched/builtin\nPriorityType=priority/basic\nPreemptType=preempt/partition_prio\n'
                'PreemptMode=REQUEUE', {'name': 'slurm-preempt', 'requeue_s': 41}),
}
SCHEDULER = 'SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=100000,bf_interval=1,bf_resolution=1,bf_max_job_test=1000'
PHASES = 10  # of Slurm's loop of a second, which is not known: the replay's figure is the mean over so many


def free_ports(count):
    found, held = [], []
    while len(found) < count:
        held.append(socket.socket())
        held[-1].bind(('127.0.0.1', 0))
        found.append(held[-1].getsockname()[1])
    for one in held:
        one.close()
    return found


def drawn_jobs(count, nodes, load, seed, scale):
    """(name, date of submission, nodes, seconds, limit in minutes, in the urgent partition)"""
    rng = random.Random(seed)
    jobs, date, mean_work = [], 0.0, 0.0
    shapes = [(rng.choice([1, 1, 1, 2, 2, 4, 8]), round(scale * min(110, max(3, rng.lognormvariate(2.7, 0.7))), 3)) for _ in range(count)]
    mean_work = sum(n * s for n, s in shapes) / count
    for number, (wanted, seconds) in enumerate(shapes):
        date += rng.expovariate(load * nodes / mean_work)
        limit = 1 + int(seconds // 60) + rng.choice([0, 0, 1, 2])
        jobs.append((f'job{number}', date, min(wanted, nodes), seconds, limit, rng.random() < 0.2))
    return jobs


class Slurm:
    """A controller and its nodes, in a folder of its own."""

    def __init__(self, folder, setting, nodes):
        self.folder, self.nodes, self.daemons = folder, nodes, []
        try:
            self.begin(setting)
        except BaseException:
            self.stop()
            raise

    def begin(self, setting):
        folder, nodes = self.folder, self.nodes
        folder.mkdir(parents=True)
        os.chmod(folder, 0o755)
        (folder / 'state').mkdir(mode=0o755)
        (folder / 'munge').mkdir(mode=0o755)
        (folder / 'munge/key').write_bytes(os.urandom(64))
        os.chmod(folder / 'munge/key', 0o600)
        munge = folder / 'munge'
        self.start('munged', ['munged', '--foreground', '--force', f'--key-file={munge}/key', f'--socket={munge}/socket',
                              f'--seed-file={munge}/seed', f'--pid-file={munge}/pid', f'--log-file={folder}/munge.log'])
        host, ports = socket.gethostname().split('.')[0], free_ports(nodes + 1)
        lines = [f'ClusterName=rehearse\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={ports[0]}\nSlurmUser=root\nSlurmdUser=root',
                 f'AuthType=auth/munge\nAuthInfo=socket={munge}/socket,cred_expire=40\nCredType=cred/munge\nStateSaveLocation={folder}/state',
                 f'SlurmdSpoolDir={folder}/%n\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/%n.pid',
                 'ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none',
                 'SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nJobRequeue=1\nReturnToService=2\nKillWait=1\nInactiveLimit=0',
                 'JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\nSlurmdTimeout=300\nMinJobAge=100000',
                 f'MaxJobCount=20000\nSlurmctldLogFile={folder}/controller.log\nLogTimeFormat=iso8601_ms\nSlurmctldDebug=debug', SCHEDULER,
                 SETTINGS[setting][0]]
        for node in range(1, nodes + 1):
            (folder / f'n{node}').mkdir(mode=0o755)
            lines.append(f'NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[node]} CPUs=1 RealMemory=100')
        lines.append(f'PartitionName=all Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP PriorityTier=1')
        lines.append(f'PartitionName=urgent Nodes=n[1-{nodes}] MaxTime=INFINITE State=UP PriorityTier=10')
        (folder / 'slurm.conf').write_text('\n'.join(lines) + '\n')
        self.environment = {**os.environ, 'SLURM_CONF': str(folder / 'slurm.conf')}
        self.wait(lambda: (munge / 'socket').exists())
        self.start('slurmctld', ['slurmctld', '-D', '-c'])
        for node in range(1, nodes + 1):
            self.start(f'n{node}', ['slurmd', '-D', '-N', f'n{node}'])
        self.wait(lambda: self.say(['sinfo', '--noheader', '--partition=all', '--format=%T %D']).strip() == f'idle {nodes}')

    def start(self, name, command):
        log = open(self.folder / f'{name}.log', 'w')
        self.daemons.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                             env=getattr(self, 'environment', None)))

    def say(self, command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout

    def wait(self, is_so, limit_s=120):
        deadline = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f'{self.folder}: not ready')
            time.sleep(0.2)

    def submit(self, job, setting):
        name, _, nodes, seconds, limit, urgent = job
        partition = ['--partition=urgent'] if urgent and setting == 'preempt' else []
        done = subprocess.run(['sbatch', f'--job-name={name}', f'--nodes={nodes}', '--ntasks-per-node=1', f'--time={limit}', '--requeue',
                               '--output=/dev/null', '--error=/dev/null', *partition, f'--wrap=exec sleep {seconds}'],
                              env=self.environment, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def records(self):
        """What scontrol says of each job, by key, with the dates of the log: scontrol's are whole seconds, and of a requeued job the
        date of its submission is that of its return."""
        records = [dict(re.findall(r'(\w+(?:/\w+)?)=(\S*)', line)) for line in self.say(['scontrol', '--oneliner', 'show', 'jobs']).splitlines() if 'JobId=' in line]
        dates = {}
        said = {'_slurm_rpc_submit_batch_job: JobId=': 'SubmitTime', 'sched: Allocate JobId=': 'StartTime',
                'sched/backfill: _start_job: Started JobId=': 'StartTime', '_job_complete: JobId=': 'EndTime'}
        for line in open(self.folder / 'controller.log', errors='replace'):
            found = re.match(r'\[([-0-9T:.]+)\] (.*?JobId=)(\d+)(.*)', line)
            if found and found[2] in said and not (found[2].startswith('_job') and 'done' not in found[4]):
                dates.setdefault(found[3], {})[said[found[2]]] = found[1]
        return [{**record, **dates[record['JobId']]} for record in records]

    def passes_apart_s(self):
        """How often the controller looked at its queue; about once a second, unless the machine was too busy."""
        dates = [line[1:24] for line in open(self.folder / 'controller.log', errors='replace') if 'Running job scheduler' in line]
        return (seconds(dates[-1]) - seconds(dates[0])) / max(1, len(dates) - 1)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


def history_of(records, path):
    """As `sacct --parsable2` prints them."""
    columns = ['JobID', 'User', 'Partition', 'Submit', 'Start', 'End', 'Timelimit', 'NNodes', 'State', 'Priority']
    with open(path, 'w') as out:
        out.write('|'.join(columns) + '\n')
        for r in records:
            urgent = 1 if r['Partition'] == 'urgent' else 0
            out.write('|'.join([r['JobId'], r['UserId'].split('(')[0], r['Partition'], r['SubmitTime'], r['StartTime'], r['EndTime'],
                                r['TimeLimit'], r['NumNodes'].split('-')[0], r['JobState'], str(urgent)]) + '\n')


def run_setting(setting, arguments, jobs, folder, results):
    kept = folder / f'{setting}.records.json'
    if kept.exists():
        results[setting] = json.loads(kept.read_text())
        return
    slurm = Slurm(folder / setting, setting, arguments.nodes)
    try:
        began = time.monotonic() + 1
        for job in jobs:
            time.sleep(max(0, began + job[1] - time.monotonic()))
            slurm.submit(job, setting)
        slurm.wait(lambda: not slurm.say(['squeue', '--noheader', '--format=%i']).strip(), 7200)
        results[setting] = slurm.records()
        print(f'{setting}: passes {slurm.passes_apart_s():.2f} s apart', file=sys.stderr)
        kept.write_text(json.dumps(results[setting]))
    finally:
        slurm.stop()


def seconds(date):
    return datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc).timestamp()


def mean(values):
    return sum(values) / len(values)


def held_against(setting, records, arguments, folder):
    """(their mean wait, ours for each phase of the loop), in seconds."""
    history, trace, out = folder / f'{setting}.sacct', folder / f'{setting}.csv', folder / f'{setting}-results'
    history_of(records, history)
    subprocess.run([arguments.program, 'import', 'jobs', 'sacct', str(history), '-o', str(trace)], check=True, stdout=subprocess.DEVNULL)
    rows = list(csv.DictReader(open(trace)))
    first, length, ours = min(float(row['submit_s']) for row in rows), mean([float(row['duration_s']) for row in rows]), []
    scenario = {'name': setting, 'cluster': {'pools': [{'name': 'nodes', 'instance': 'p3.2xlarge', 'nodes': arguments.nodes}]},
                'jobs': [{'trace': str(trace), 'keep_origin': True}], 'output': {'report': False},
                'policies': [{'name': setting, 'queue': SETTINGS[setting][1]}]}
    if setting == 'preempt':  # a requeued job begins anew
        scenario['checkpoint'] = {'preemption': 'lose'}
    path = folder / f'{setting}.json'
    path.write_text(json.dumps(scenario, indent=2))
    for phase in range(PHASES):
        with open(trace, 'w', newline='') as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            for row in rows:
                writer.writerow({**row, 'submit_s': round(float(row['submit_s']) - first + (phase + 0.5) / PHASES, 3)})
        done = subprocess.run([arguments.program, 'run', str(path), '--out', str(out), '--replace'], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        ours.append(mean([float(row['end_s']) - float(row['submit_s']) for row in csv.DictReader(open(out / 'jobs.csv'))]) - length)
    # Of a job that was requeued the last start is told, here and there: the wait until a job ends is compared, less its length.
    return mean([seconds(r['EndTime']) - seconds(r['SubmitTime']) for r in records]) - length, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--jobs', type=int, default=300)
    parser.add_argument('--nodes', type=int, default=16)
    parser.add_argument('--load', type=float, default=1.1, help='work submitted over what the nodes can do')
    parser.add_argument('--scale', type=float, default=0.35, help='of the jobs, which sleep 3 to 110 s at 1')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--folder', type=pathlib.Path)
    parser.add_argument('--settings', nargs='+', choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument('--within', type=float, help='status 1 when a mean wait is more per cent away than this')
    arguments = parser.parse_args()
    arguments.program = os.path.realpath(arguments.program)
    missing = [tool for tool in ('munged', 'slurmctld', 'slurmd', 'sbatch', 'scontrol', 'sinfo', 'squeue') if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        print('skipped: ' + ('it needs root' if os.geteuid() != 0 else f'no {missing[0]} (apt-get install slurm-wlm munge)'))
        sys.exit(77)
    os.environ['TZ'] = 'UTC'
    time.tzset()
    temporary = None
    if arguments.folder is None:
        temporary = tempfile.TemporaryDirectory(prefix='rehearse-slurm-')
        os.chmod(temporary.name, 0o755)
    folder = arguments.folder or pathlib.Path(temporary.name)
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    jobs = drawn_jobs(arguments.jobs, arguments.nodes, arguments.load, arguments.seed, arguments.scale)
    results = {}
    for first in range(0, len(arguments.settings), 2):
        threads = [threading.Thread(target=run_setting, args=(setting, arguments, jobs, folder, results))
                   for setting in arguments.settings[first:first + 2]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    worst = 0
    print(f'| setting | jobs requeued | mean wait in Slurm, s | here, s | spread over {PHASES} phases, s | difference |\n|---|---:|---:|---:|---:|---:|')
    for setting in arguments.settings:
        records = results.get(setting, [])
        if len(records) != arguments.jobs:
            sys.exit(f'{setting}: {len(records)} of {arguments.jobs} jobs ended')
        theirs, ours = held_against(setting, records, arguments, folder)
        worst = max(worst, abs(mean(ours) / theirs - 1))
        requeued = sum(int(record.get('Restarts', 0)) > 0 for record in records)
        print(f'| `{setting}` | {requeued} | {theirs:.1f} | {mean(ours):.1f} | {statistics.stdev(ours):.1f} | {100 * (mean(ours) / theirs - 1):+.1f} % |')
    sys.exit(0 if arguments.within is None or 100 * worst <= arguments.within else 1)


if __name__ == '__main__':
    main()
