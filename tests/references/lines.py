"""One line of rigid jobs in some order, from the definitions. Each event plans from scratch who should run."""
import math


def schedule(jobs, nodes, per_node, order, preempts=False, passes=True, fewest_nodes=False):
    """Ends of jobs. `order(job, remaining)`: the smallest is first, then by arrival. `passes`: whoever fits may pass the first.
    `fewest_nodes`: as Tiresias, Helios and Lucid place: whole nodes, and one with room for the rest; else a job waits."""
    ends, remaining, running, waiting = [0] * len(jobs), [job[2] for job in jobs], {}, []
    free, now, arrived = [per_node] * nodes, 0, 0

    def take(job):
        devices, taken = jobs[job][1], []
        if devices > sum(free):
            return False
        while devices > 0:
            fitting = [node for node in range(nodes) if free[node] >= devices]
            node = min(fitting, key=lambda n: free[n]) if fitting else max(range(nodes), key=lambda n: (free[n], -n))
            if fewest_nodes and not fitting and free[node] < per_node:
                give_back(taken)
                return False
            taken.append((node, min(free[node], devices)))
            free[node] -= taken[-1][1]
            devices -= taken[-1][1]
        running[job] = taken
        return True

    def give_back(taken):
        for node, devices in taken:
            free[node] += devices

    while arrived < len(jobs) or waiting or running:
        date = min([jobs[arrived][0]] if arrived < len(jobs) else [math.inf], default=math.inf)
        date = min([date] + [now + remaining[job] for job in running])
        for job in list(running):
            remaining[job] -= date - now
            if remaining[job] == 0:
                ends[job] = date
                give_back(running.pop(job))
        now = date
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            waiting.append(arrived)
            arrived += 1
        ranked = sorted(waiting + (list(running) if preempts else []), key=lambda job: (order(jobs[job], remaining[job]), job))
        if preempts:
            left, wanted = nodes * per_node, []
            for job in ranked:
                if jobs[job][1] <= left:
                    wanted.append(job)
                    left -= jobs[job][1]
            for job in [job for job in running if job not in wanted]:
                give_back(running.pop(job))
                waiting.append(job)
            ranked = [job for job in wanted if job not in running]
        for job in ranked:
            if take(job):
                waiting.remove(job)
            elif not passes:
                break
    return ends
