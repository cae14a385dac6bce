"""The sections of docs/evidence/speed.md: what bench/all runs, and what the page says beside the numbers."""
from typing import NamedTuple


class Section(NamedTuple):
    name: str
    title: str
    text: str
    commands: tuple = ()
    targets: tuple = ()  # of the build, that commands name


SECTIONS = (
    Section("ladder", "Rigid replays: `bench/ladder`", """
One-GPU jobs, first come first served, on single-GPU nodes at load 0.8; the trace is read, `jobs.csv` and `decisions.csv` are written. *us a job*: CPU time less that of the one-job run on the same cluster. *growth*: against 10,000 jobs. *bare*: a loop that reads the same trace, pops and pushes the same completions and writes the same two files, byte for byte; *x bare*: the program's time over it. Bound: 2.5 times the bare loop at a million jobs, growth at most 1.5.

What takes the rest of the time, of leaf samples of a million jobs in hundredths: the replay's own steps of a job 22; the kernel 19, half of it taking the files' bytes, which the bare loop pays too, and half touching memory first; formatting the rows 16; reading the trace 12; SimGrid's loop, once a date, 8; the heap of events 6; the C library's memory 5; the queue 4; SHA-256 of the trace 3. No function of the program has more than a twentieth. A job takes 29,900 instructions, of which the bare loop's are 7,600 and SimGrid's clock 3,100.

What was tried, in instructions a job of 100,000 (callgrind), which other work on the machine does not change:

| what | before | after | |
|---|---:|---:|---|
| rows: digits laid out by a short writer of our own, fields and prefixes copied once into one buffer, names looked at for quotes in one pass | 10,470 | 7,020 | kept |
| decisions without their rows: a slot made anew in place for the next job, its holdings' memory kept | 7,040 | 6,030 | kept |
| room for all jobs and outcomes at once, on large pages | 512 MB | 412 MB | kept |
| events of 24 bytes, not 32, with four below each, not two | 1,510 | 1,570 | kept for fewer cache lines on large clusters |
| SimGrid's own models without lazy updates | 3,070 | 3,170 | taken back |
""", (("bench/ladder",),)),
    Section("queues", "Queue disciplines: `queue_bench`", """
Rigid jobs of 1 to 8 GPUs on 64 nodes of 8, bare event loop, nothing read or written. *A decision*: a closed system with a thousand jobs waiting, 20,000 jobs. *A job*: Poisson arrivals at load 0.8. CPU time of the whole replay, so an upper bound of the discipline's own. Bound: at most 20 us a decision at a thousand waiting jobs, growth at most 1.5.
""", (("queue_bench",),), ("queue_bench",)),
    Section("training", "Queues that choose among menus: `bench/commands training`", """
5,000 training jobs with whole menus on 64 V100s and 64 K80s at 12 an hour. Bound: `goodput` and `optimus` twice `fifo`, `gavel` 20 s.

What takes `goodput`'s time beyond `fifo`'s: it resizes 5,000 jobs 39,565 times, each a stage whose course is drawn anew to the job's end, a fifth of the samples; giving out devices anew each minute, as what is left of every job changes with every minute, a sixth. What was tried: changes of a job in no order, of which the best is looked for, in place of a heap a job, and an end as soon as none that is left fits, took giving out devices from 29 hundredths of the samples to 16; jobs whose state has not changed cannot be left out without other allocations, since the gain of each change is of seconds left.
""", (("bench/commands", "training"),)),
    Section("processes", "Policies as processes: `bench/process`", """
10,000 training jobs; what all decisions of a policy took in wall time. Bound: 10,000 decisions over the pipe in under 2 s. [protocol.md](../reference/protocol.md)
""", (("bench/process",),)),
    Section("traces", "Whole traces: `bench/traces`", """
The trace is read and `jobs.csv` written. Philly is on its own 2,490 GPUs, where only 374 are busy on average, and on 400, where long queues form. ElasticFlow's GPUs are the trace's mean load over 0.8, at least its largest job. Bound: `fifo` 3 s, `las` and `srtf` 6, backfilling 10, `gavel` 5, 500 MB.

`gavel` on 400 GPUs misses it: it starts 82,247 jobs 1.97 million times, which takes 3.6 us a start with its rows, and no function of the discipline takes more than a twentieth.
""", (("bench/traces",),)),
    Section("scale", "Scale: `bench/commands scale`", """
What a cluster of tomorrow asks. Training jobs have whole menus of `static-isotonic-shared`.

A month of a million trainings takes 40 us a job: jobs that ask for the same are answered from memory as long as the past runs stay what they were. What is left is the grid of candidates and looking whether its menu is shared.

Ten million rigid jobs are beyond their bound. The bare loop of the ladder (`build/release/bench/bare_loop TRACE 100000 FOLDER`) takes 18 s and 1 GB for the same trace and files, so that the bound is 1.4 times it, and the program 3.5 times. What takes the time, of leaf samples in hundredths: the program's own code 62, of which the heap of events has 11 and no other function more than 5, since 100,000 running jobs lie in no cache; touching memory first 14 and taking the files' bytes 8, both of which the bare loop pays as well; SimGrid's loop 5; the C library 5; SHA-256 of the trace 2. Of the memory 232 bytes a job are the job as read and 112 its outcome; most of the former is limits and targets that a rigid job has not.
""", (("bench/commands", "scale", "--runs", "1"),)),
    Section("contention", "Contention on a shared network", """
20,000 training jobs on 1,000 one-GPU nodes, without and with racks of 8 whose uplinks carry an eighth. With it jobs take longer, so that more of them wait, too.
""", (("bench/commands", "contention", "--runs", "1"),)),
    Section("ranking", "Ranking: `ranking_bench`", """
static-isotonic-shared's whole answer for one job (predictions, limits, ranking, menu), the fits made before, with 20 past runs of each instance. Bound: 10,000 configurations in under 10 ms.
""", (("ranking_bench", "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"),), ("ranking_bench",)),
    Section("decisions", "Learning strategies: `bench/decisions`", """
What a job costs more than under `manual`.
""", (("bench/decisions",),)),
    Section("scenarios", "Shipped scenarios", """
`rehearse run` of each, report and all files included.
""", (("bench/commands", "scenarios"),)),
    Section("steps", "Timing a step: `step_bench`", """
Random graphs in which an operation reads two of the 16 before it, on a CPU and 8 GPUs behind two PCIe switches; 64 placements in turn, so that nothing is learnt of one. *random*: each operation on any GPU, 1.5 transfers an operation, which wait for each other at the switches. *local*: runs of 25 operations on one GPU, 0.3 transfers. *bare*: the same graph with a heap of events and a queue a device, transfers as long as they take alone, no memory counted. Bound with 1,000 operations: 8 times the bare loop at random, 3 times locally, and near-linear growth to 10,000.
""", (("step_bench", "--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true", "--benchmark_report_aggregates_only=true"),), ("step_bench",)),
    Section("threads", "Threads of a large graph: `threads_bench`", """
Eleven Inception-v3 one after the other (10,098 operations) on a KNL 7250: hill climbing over some 25 timings of the step, and one timing with the plan. Bound: both under 1 s.
""", (("threads_bench", "--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true"),), ("threads_bench",)),
    Section("placement", "List schedulers: `placement_bench`", """
Making the groups' graph and the schedule, each operation a group of its own, the graphs of `step_bench`, a CPU and 8 GPUs. Bound: 200 ms with 10,000.
""", (("placement_bench", "--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true"),), ("placement_bench",)),
    Section("networks", "Neural networks: `network_bench`", """
Double precision, one thread, portable build. The perceptron is 40-128-128-64 with tanh; the LSTM has 64 inputs and 64 units; with attention, one sequence is encoded once, and decoded by all rows.
""", (("network_bench", "--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true"),), ("network_bench",)),
    Section("stage-agent", "A decision of staged-rl: `stage_agent_bench`", """
After the first stage of a job on CIFAR-10, three pools, 35 options. Bound: 100 us.
""", (("stage_agent_bench", "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"),), ("stage_agent_bench",)),
    Section("isotonic", "Isotonic fits: `isotonic_bench`", """
Noisy monotone data: a fit, a prediction from it, all the refits behind a margin.
""", (("isotonic_bench", "--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true"),), ("isotonic_bench",)),
    Section("job-traces", "Job traces", """
Philly's jobs, and forty of them in a row under other names (3,289,880 jobs). Import and describe hold a fingerprint of 8 bytes in a table at most half full for each job that is kept. Bound: two million jobs in 100 MB.
""", (("bench/commands", "traces"),)),
    Section("report", "The HTML report", """
50,000 jobs of three models on 480 GPUs under one policy, with all that the report takes in; headless Chromium without a GPU. Above 10,000 jobs [an even sample](../guide/report.md#what-goes-in) of the jobs is in it. Bound: 8 MB, 4 s to load, 3 s to make.
""", (("bench/report_load.mjs", "build/release/cli/rehearse"),)),
    Section("sweeps", "Sweeps: `rehearse sweep`", """
About 1,000 runs of the quickstart's jobs. Each sweep prints how much of the time is outside the runs. Bound: 20 %.
""", (("bench/commands", "sweeps", "--runs", "1"),)),
)
