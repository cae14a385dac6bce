"""Tiresias' queues of attained service, from its simulator's rules: two-dimensional least attained service, or its Gittins index."""
import bisect
import itertools
import math


def gittins(services, quantum=3250):
    """The index of a job by its service, when jobs end after these."""
    known = sorted(services)
    sums = [0] + list(itertools.accumulate(known))

    def before(service):
        first, last = bisect.bisect_right(known, service - 1), bisect.bisect_right(known, service - 1 + quantum)
        return (last - first) / (sums[last] - sums[first] + quantum * (len(known) - last))

    index = [before(service) for service in known] + [0.0]
    return lambda service: index[bisect.bisect_right(known, service)]


def schedule(jobs, devices, limits, index=None):
    """Ends of jobs. `limits`: device-seconds after which a job leaves its queue for the next one. Whoever fits runs, in the order
    of the queues; those that wait stand behind those that run. With `index` the largest comes first, then the first to arrive."""
    ends, remaining, service, level = [0] * len(jobs), [job[2] for job in jobs], [0] * len(jobs), {}
    queues, running, now, arrived = [[] for _ in range(len(limits) + 1)], set(), 0, 0
    while arrived < len(jobs) or any(queues):
        date = jobs[arrived][0] if arrived < len(jobs) else math.inf
        for job in running:
            date = min(date, now + remaining[job])
            if level[job] < len(limits):
                date = min(date, now + max(0, -(-(limits[level[job]] - service[job]) // jobs[job][1])))
        for job in list(running):
            remaining[job] -= date - now
            service[job] += (date - now) * jobs[job][1]
            if remaining[job] == 0:
                ends[job] = date
                running.discard(job)
                queues[level[job]].remove(job)
            elif level[job] < len(limits) and service[job] >= limits[level[job]]:
                queues[level[job]].remove(job)
                level[job] += 1
                queues[level[job]].append(job)
        now = date
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            queues[0].append(arrived)
            level[arrived] = 0
            arrived += 1
        left, running = devices, set()
        for queue in queues:
            if index:
                queue.sort(key=lambda job: (-index(service[job]), job))
            for job in queue:
                if jobs[job][1] <= left:
                    running.add(job)
                    left -= jobs[job][1]
        queues = [[job for job in q if job in running] + [job for job in q if job not in running] for q in queues]
    return ends
