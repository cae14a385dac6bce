#!/usr/bin/env python3
"""Queues here beside a real Slurm: jobs that only sleep, on the emulated nodes of private Slurms on this machine, one for each
setting and repetition (other jobs, of the next seed); their history, with the dates of the controller's log, is imported as sacct's,
replayed under our preset, and the mean wait of both is printed: for each repetition, then the mean difference of each setting and its
95 % interval over the repetitions.

  tests/slurm/queues.py build/release/cli/rehearse [--repetitions 8] [--seed 1] [--scale 0.6] [--within 5] [--folder FOLDER] [--settings fifo ...]

The preset is told what the log says of the controller, never what it says of waits: when its passes and its plans of backfill were (a
second apart, and more where the machine is busy), and until when each job kept its nodes (when the last node said that nothing of it
is left, some hundredths of a second after the job's end). Dates are reckoned in its own time, in which passes (of `backfill`: plans)
are evenly apart: jobs come between the same two of them, there and here.

As root, with slurm-wlm and munge (Debian 12's names), and for `fair-share` slurmdbd and mariadb-server, else that setting is left out;
else it ends with status 77: skipped. Everything lies in the folder (a temporary one by default); one that has records of a setting is
replayed without a Slurm. All settings and repetitions run at once, as jobs sleep: a quarter of an hour and some ten minutes of one
core's time for 32 Slurms. The machine should have nothing else to do.
"""
import argparse
import bisect
import concurrent.futures
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
    'fair-share': ('SchedulerType=sched/builtin\nPriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityCalcPeriod=1\n'
                   'PriorityWeightAge=0\nPriorityWeightJobSize=0\nPriorityDecayHalfLife=10',  # minutes
                   {'name': 'slurm-multifactor', 'weight_fair_share': 100000, 'weight_age': 0, 'weight_size': 0, 'calc_s': 60,
                    'half_life_s': 600}),
    'preempt': ('SchedulerType=sched/builtin\nPriorityType=priority/basic\nPreemptType=preempt/partition_prio\n'
                'PreemptMode=REQUEUE', {'name': 'slurm-preempt', 'requeue_s': 41}),
}
SCHEDULER = 'SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=100000,bf_interval=1,bf_resolution=1,bf_max_job_test=1000'
# The log says to some hundredths of a second when a pass looked at what: the replay's figure is the mean over jobs that come so much later.
LATER_S = [(step - 4.5) / 100 for step in range(10)]
ACCOUNTS = ['ann', 'bob', 'cat', 'dan']  # of whom the first submits half of the jobs, the next half of the rest, ...
STUDENT_95 = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]  # 97.5 % of t with 1, 2, ... degrees of freedom


PORTS = iter(random.Random(os.getpid()).sample(range(10000, 32000), 20000))  # below those that the kernel gives to connections
PORTS_LOCK = threading.Lock()


def free_ports(count):
    """Each is given out once, whatever the daemon that it is for has done by now."""
    found = []
    with PORTS_LOCK:
        while len(found) < count:
            port = next(PORTS)
            with socket.socket() as tried:
                if tried.connect_ex(('127.0.0.1', port)) != 0:
                    found.append(port)
    return found


def nodes_named(text):
    """n[1,3-4]: n1, n3, n4"""
    found = []
    for part in text.removeprefix('n').strip('[]').split(','):
        first, _, last = part.partition('-')
        found += [f'n{node}' for node in range(int(first), int(last or first) + 1)]
    return found


def drawn_jobs(count, nodes, load, seed, scale):
    """(name, date of submission, nodes, seconds, limit in minutes, in the urgent partition, account)"""
    rng = random.Random(seed)
    jobs, date, mean_work = [], 0.0, 0.0
    shapes = [(rng.choice([1, 1, 1, 2, 2, 4, 8]), round(scale * min(110, max(3, rng.lognormvariate(2.7, 0.7))), 3)) for _ in range(count)]
    mean_work = sum(n * s for n, s in shapes) / count
    for number, (wanted, seconds) in enumerate(shapes):
        date += rng.expovariate(load * nodes / mean_work)
        limit = 1 + int(seconds // 60) + rng.choice([0, 0, 1, 2])
        jobs.append((f'job{number}', date, min(wanted, nodes), seconds, limit, rng.random() < 0.2,
                     rng.choices(ACCOUNTS, [8, 4, 2, 2])[0]))
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
        self.environment = {**os.environ, 'SLURM_CONF': str(folder / 'slurm.conf')}
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
        accounting = 'AccountingStorageType=accounting_storage/none'
        if setting == 'fair-share':
            accounting = self.begin_accounting(host)
        lines = [f'ClusterName=rehearse\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={ports[0]}\nSlurmUser=root\nSlurmdUser=root',
                 f'AuthType=auth/munge\nAuthInfo=socket={munge}/socket,cred_expire=40\nCredType=cred/munge\nStateSaveLocation={folder}/state',
                 f'SlurmdSpoolDir={folder}/%n\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/%n.pid',
                 'ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none',
                 'SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nJobRequeue=1\nReturnToService=2\nKillWait=1\nInactiveLimit=0',
                 'JobAcctGatherType=jobacct_gather/none\nSlurmdTimeout=300\nMinJobAge=100000',
                 f'MaxJobCount=20000\nSlurmctldLogFile={folder}/controller.log\nLogTimeFormat=iso8601_ms\nSlurmctldDebug=debug2', SCHEDULER, accounting,
                 SETTINGS[setting][0]]
        for node in range(1, nodes + 1):
            (folder / f'n{node}').mkdir(mode=0o755)
            lines.append(f'NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[node]} CPUs=1 RealMemory=100')
        lines.append(f'PartitionName=all Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP PriorityTier=1')
        lines.append(f'PartitionName=urgent Nodes=n[1-{nodes}] MaxTime=INFINITE State=UP PriorityTier=10')
        (folder / 'slurm.conf').write_text('\n'.join(lines) + '\n')
        self.wait(lambda: (munge / 'socket').exists())
        if setting == 'fair-share':
            self.begin_accounts()
        self.start('slurmctld', ['slurmctld', '-D', '-c'])
        for node in range(1, nodes + 1):
            self.start(f'n{node}', ['slurmd', '-D', '-N', f'n{node}'])
        self.wait(lambda: self.say(['sinfo', '--noheader', '--partition=all', '--format=%T %D']).strip() == f'idle {nodes}')

    def begin_accounting(self, host):
        """A database and Slurm's server of it; slurm.conf's lines for them."""
        data, munge, (port, _) = self.folder / 'mariadb', self.folder / 'munge/socket', free_ports(2)
        subprocess.run(['mariadb-install-db', '--no-defaults', f'--datadir={data}', '--user=root', '--skip-test-db', '--skip-name-resolve'],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.start('mariadbd', ['mariadbd', '--no-defaults', f'--datadir={data}', f'--socket={data}/socket', '--user=root', '--skip-grant-tables',
                                '--skip-networking', '--innodb-lock-wait-timeout=900'])
        (self.folder / 'slurmdbd.conf').write_text(
            f'DbdHost={host}\nDbdAddr=127.0.0.1\nDbdPort={port}\nSlurmUser=root\nAuthType=auth/munge\nAuthInfo=socket={munge}\n'
            f'StorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\nStorageLoc=accounting\n'
            f'PidFile={self.folder}/slurmdbd.pid\nLogFile={self.folder}/slurmdbd.log\n')
        os.chmod(self.folder / 'slurmdbd.conf', 0o600)
        self.environment['MYSQL_UNIX_PORT'] = f'{data}/socket'
        return f'AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort={port}\n' \
               f'AccountingStoragePass={munge}'

    def begin_accounts(self):
        """One of each name, of equal shares, in which root submits."""
        self.wait(lambda: (self.folder / 'mariadb/socket').exists())
        self.start('slurmdbd', ['slurmdbd', '-D'])
        self.wait(lambda: 'rehearse' in self.say(['sacctmgr', '--immediate', 'add', 'cluster', 'rehearse'])
                  or 'rehearse' in self.say(['sacctmgr', '--noheader', 'list', 'cluster', 'format=cluster']))
        for account in ACCOUNTS:
            self.say(['sacctmgr', '--immediate', 'add', 'account', account, 'cluster=rehearse', 'fairshare=1'])
            self.say(['sacctmgr', '--immediate', 'add', 'user', 'root', f'account={account}', 'cluster=rehearse', 'fairshare=1'])

    def start(self, name, command):
        log = open(self.folder / f'{name}.log', 'w')
        self.daemons.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                             env=self.environment, start_new_session=True))

    def say(self, command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout

    def wait(self, is_so, limit_s=300):
        deadline = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > deadline:
                raise TimeoutError(f'{self.folder}: not ready')
            time.sleep(0.2)

    def submit(self, job, setting):
        name, _, nodes, seconds, limit, urgent, account = job
        partition = ['--partition=urgent'] if urgent and setting == 'preempt' else []
        owner = [f'--account={account}'] if setting == 'fair-share' else []
        done = subprocess.run(['sbatch', f'--job-name={name}', f'--nodes={nodes}', '--ntasks-per-node=1', f'--time={limit}', '--requeue',
                               '--output=/dev/null', '--error=/dev/null', *partition, *owner, f'--wrap=exec sleep {seconds}'],
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
        jobs_on, leaving = {}, {}
        for date, text in self.log():
            if found := re.match(r'debug2: node_did_resp (\S+)', text):
                if job := leaving.pop(found[1], None):
                    dates[job]['FreeTime'] = date
            found = re.match(r'(.*?JobId=)(\d+)(.*)', text)
            if not found or found[1] not in said or (found[1].startswith('_job') and 'done' not in found[3]):
                continue
            what, job = said[found[1]], found[2]
            dates.setdefault(job, {})[what] = date
            if what == 'StartTime':
                jobs_on[job] = nodes_named(re.search(r'(?:NodeList=| on )(n\S+)', found[3])[1])
            if what == 'EndTime':
                dates[job]['FreeTime'] = date
                leaving.update({node: job for node in jobs_on[job]})
        return [{**record, **dates[record['JobId']]} for record in records]

    def log(self):
        for line in open(self.folder / 'controller.log', errors='replace'):
            if line[:1] == '[' and line[24:26] == '] ':
                yield line[1:24], line[26:].rstrip()

    def controller(self):
        """When it began (to reckon usage), and when its passes and its plans of backfill were, in seconds."""
        dates = {'slurmctld version': [], 'MULTIFACTOR plugin loaded': [], 'Running job scheduler for full': [],
                 '_attempt_backfill: beginning': []}
        for date, text in self.log():
            for mark, found in dates.items():
                if mark in text:
                    found.append(seconds(date))
        began, reckoned, passes, plans = dates.values()
        return {'began_s': (reckoned or began)[0], 'passes_s': passes, 'plans_s': plans}

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


class Clock:
    """A loop's own time: its ticks are evenly apart, some left out while there was nothing to do."""

    def __init__(self, dates):
        gaps = [later - date for date, later in zip(dates, dates[1:])]
        regular = [gap for gap in gaps if gap < 1.5 * statistics.median(gaps)]
        self.dates, self.period, self.ticks = dates, mean(regular), [0]
        for gap in gaps:
            self.ticks.append(self.ticks[-1] + max(1, round(gap / self.period)))

    def at(self, date):
        """The date in this time, in seconds from the first tick on."""
        tick = bisect.bisect_right(self.dates, date) - 1
        if tick < 0:
            return date - self.dates[0]
        if tick == len(self.dates) - 1:
            return self.ticks[-1] * self.period + date - self.dates[-1]
        part = (date - self.dates[tick]) / (self.dates[tick + 1] - self.dates[tick])
        return (self.ticks[tick] + part * (self.ticks[tick + 1] - self.ticks[tick])) * self.period

    def line(self):
        """(period, phase) by least squares."""
        tick, date = mean(self.ticks), mean(self.dates)
        period = sum((k - tick) * (d - date) for k, d in zip(self.ticks, self.dates)) / sum((k - tick) ** 2 for k in self.ticks)
        return period, (date - period * tick) % period


def history_of(records, path):
    """As `sacct --parsable2` prints them; a job's end is when its last node is free."""
    columns = ['JobID', 'User', 'Partition', 'Submit', 'Start', 'End', 'Timelimit', 'NNodes', 'State', 'Priority']
    with open(path, 'w') as out:
        out.write('|'.join(columns) + '\n')
        for r in records:
            urgent = 1 if r['Partition'] == 'urgent' else 0
            owner = r['UserId'].split('(')[0] if r['Account'] == '(null)' else r['Account']
            out.write('|'.join([r['JobId'], owner, r['Partition'], r['SubmitTime'], r['StartTime'], r['FreeTime'], r['TimeLimit'],
                                r['NumNodes'].split('-')[0], r['JobState'], str(urgent)]) + '\n')


def measured(setting, seed, arguments, folder):
    """What a Slurm with this setting did with the jobs of this seed."""
    kept = folder / f'{setting}-{seed}.records.json'
    if kept.exists():
        return json.loads(kept.read_text())
    jobs = drawn_jobs(arguments.jobs, arguments.nodes, arguments.load, seed, arguments.scale)
    shutil.rmtree(folder / f'{setting}-{seed}', ignore_errors=True)  # of one that did not start
    slurm = Slurm(folder / f'{setting}-{seed}', setting, arguments.nodes)
    try:
        began = time.monotonic() + 1
        for job in jobs:
            time.sleep(max(0, began + job[1] - time.monotonic()))
            slurm.submit(job, setting)
        slurm.wait(lambda: not slurm.say(['squeue', '--noheader', '--format=%i']).strip(), 7200)
        result = {'controller': slurm.controller(), 'jobs': slurm.records()}
    finally:
        slurm.stop()
    if len(result['jobs']) != arguments.jobs:
        raise RuntimeError(f"{setting}: {len(result['jobs'])} of {arguments.jobs} jobs ended")
    kept.write_text(json.dumps(result))
    return result


def seconds(date):
    return datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc).timestamp()


def mean(values):
    return sum(values) / len(values)


def interval(values):
    """(mean, half of its 95 % interval)"""
    if len(values) < 2:
        return mean(values), float('nan')
    return mean(values), STUDENT_95[min(len(values) - 1, len(STUDENT_95)) - 1] * statistics.stdev(values) / len(values) ** 0.5


def clocks(setting, controller):
    """A date as the preset's time has it; and its parameters of passes and plans. Usage is reckoned from the controller's start on, and
    ends that backfill looks at together are told apart by half minutes of the clock on the wall."""
    lead = Clock(controller['plans_s' if setting == 'backfill' else 'passes_s'])
    began = controller['began_s'] - (controller['began_s'] % 30 if setting == 'backfill' else 0)
    origin = lead.at(began)
    own, (period, phase) = (lambda date: lead.at(date) - origin), (lead.period, -origin % lead.period)
    if setting != 'backfill':
        return own, {'interval_s': round(period, 4), 'phase_s': round(phase, 4)}
    pass_s, pass_phase = Clock([own(date) for date in controller['passes_s']]).line()
    return own, {'interval_s': round(pass_s, 4), 'phase_s': round(pass_phase, 4), 'backfill_interval_s': round(period, 4),
                 'backfill_phase_s': round(phase, 4)}


def held_against(setting, seed, result, arguments, folder):
    """(their mean wait, ours for each of LATER_S, seconds between passes)."""
    name, records = f'{setting}-{seed}', result['jobs']
    history, trace, out = folder / f'{name}.sacct', folder / f'{name}.csv', folder / f'{name}-results'
    history_of(records, history)
    subprocess.run([arguments.program, 'import', 'jobs', 'sacct', str(history), '-o', str(trace)], check=True, stdout=subprocess.DEVNULL)
    rows, ours = list(csv.DictReader(open(trace))), []
    length = mean([float(row['duration_s']) for row in rows])
    own, passes = clocks(setting, result['controller'])
    queue = {**SETTINGS[setting][1], **passes}
    scenario = {'name': name, 'cluster': {'pools': [{'name': 'nodes', 'instance': 'p3.2xlarge', 'nodes': arguments.nodes}]},
                'jobs': [{'trace': str(trace), 'keep_origin': True}], 'output': {'report': False},
                'policies': [{'name': setting, 'queue': queue}]}
    if setting == 'preempt':  # a requeued job begins anew, its limit too, which sched/builtin does not plan with; here it is for all runs
        scenario['checkpoint'] = {'preemption': 'lose'}
        rows = [{**row, 'walltime_s': ''} for row in rows]
    path = folder / f'{name}.json'
    path.write_text(json.dumps(scenario, indent=2))
    for later in LATER_S:
        with open(trace, 'w', newline='') as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            for row in rows:
                writer.writerow({**row, 'submit_s': round(own(float(row['submit_s'])) + later, 3)})
        done = subprocess.run([arguments.program, 'run', str(path), '--out', str(out), '--replace'], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        ours.append(mean([float(row['end_s']) - float(row['submit_s']) for row in csv.DictReader(open(out / 'jobs.csv'))]) - length)
    # Of a job that was requeued the last start is told, here and there: the wait until a job ends is compared, less its length.
    return mean([seconds(r['FreeTime']) - seconds(r['SubmitTime']) for r in records]) - length, ours, queue['interval_s']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--jobs', type=int, default=300)
    parser.add_argument('--nodes', type=int, default=16)
    parser.add_argument('--repetitions', type=int, default=8, help='with the jobs of as many seeds')
    parser.add_argument('--load', type=float, default=1.1, help='work submitted over what the nodes can do')
    parser.add_argument('--scale', type=float, default=0.6, help='of the jobs, which sleep 3 to 110 s at 1')
    parser.add_argument('--seed', type=int, default=1, help='the first')
    parser.add_argument('--at-once', type=int, default=32, help='Slurms')
    parser.add_argument('--folder', type=pathlib.Path)
    parser.add_argument('--settings', nargs='+', choices=SETTINGS, default=['fifo', 'backfill', 'fair-share', 'preempt'])
    parser.add_argument('--within', type=float, help='status 1 when a mean difference is more per cent than this')
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
    if 'fair-share' in arguments.settings and not all(shutil.which(tool) for tool in ('slurmdbd', 'sacctmgr', 'mariadbd')):
        print('left out: fair-share, which needs an accounting database (apt-get install slurmdbd mariadb-server)')
        arguments.settings.remove('fair-share')
    seeds = range(arguments.seed, arguments.seed + arguments.repetitions)
    with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
        runs = {(setting, seed): pool.submit(measured, setting, seed, arguments, folder) for seed in seeds for setting in arguments.settings}
    worst, summary = 0, []
    print('| setting | seed | passes, s apart | jobs requeued | mean wait in Slurm, s | here, s | over dates, s | difference |\n'
          '|---|---:|---:|---:|---:|---:|---:|---:|')
    for setting in arguments.settings:
        differences = []
        for seed in seeds:
            try:
                result = runs[setting, seed].result()
            except TimeoutError as error:  # the same command with this folder tries it again
                print(f'left out, as its Slurm did not start: {error}', file=sys.stderr)
                continue
            theirs, ours, pass_s = held_against(setting, seed, result, arguments, folder)
            differences.append(100 * (mean(ours) / theirs - 1))
            requeued = sum(int(record.get('Restarts', 0)) > 0 for record in result['jobs'])
            print(f"| `{setting}` | {seed} | {pass_s:.3f} | {requeued} | {theirs:.1f} | {mean(ours):.1f} "
                  f'| {statistics.stdev(ours):.1f} | {differences[-1]:+.1f} % |', flush=True)
        if len(differences) < 2:
            sys.exit(f'{setting}: {len(differences)} of {len(seeds)} Slurms started')
        middle, half = interval(differences)
        worst = max(worst, abs(middle))
        summary.append(f'| `{setting}` | {len(differences)} x {arguments.jobs} | {middle:+.1f} % | {half:.1f} % |')
    print('\n| setting | jobs | mean difference | 95 % interval, +- |\n|---|---:|---:|---:|', *summary, sep='\n')
    sys.exit(0 if arguments.within is None or worst <= arguments.within else 1)


if __name__ == '__main__':
    main()
