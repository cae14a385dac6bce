"""EASY and conservative backfilling with exact durations, by definition."""


def easy(jobs, devices):
    """The first in line has a reservation; whoever does not delay it may pass."""
    ends, free, running, waiting, arrived, now = [0] * len(jobs), devices, [], [], 0, 0

    def start(job):
        nonlocal free
        free -= jobs[job][1]
        ends[job] = now + jobs[job][2]
        running.append((ends[job], job))

    while arrived < len(jobs) or running:
        now = min([end for end, _ in running] + ([jobs[arrived][0]] if arrived < len(jobs) else []))
        free += sum(jobs[job][1] for end, job in running if end <= now)
        running[:] = [held for held in running if held[0] > now]
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            waiting.append(arrived)
            arrived += 1
        while waiting and jobs[waiting[0]][1] <= free:
            start(waiting.pop(0))
        if not waiting:
            continue
        need, left, reserved = jobs[waiting[0]][1], free, now
        for end, job in sorted(running):
            if left >= need and end > reserved:
                break
            left, reserved = left + jobs[job][1], end
        left -= need
        for job in waiting[1:]:
            in_time = now + jobs[job][2] <= reserved
            if jobs[job][1] <= free and (in_time or jobs[job][1] <= left):
                left -= 0 if in_time else jobs[job][1]
                waiting.remove(job)
                start(job)
    return ends


def conservative(jobs, devices):
    """Everybody has the first reservation that delays nobody before him. With exact durations it is made once: at his arrival."""
    ends, dates, free = [], [0], [devices]  # free[i] devices from dates[i] to the next
    for submitted, need, seconds in jobs:
        start = submitted
        for i, date in enumerate(dates):
            if i + 1 < len(dates) and dates[i + 1] <= start:
                continue
            if free[i] < need and max(date, submitted) < start + seconds:
                start = max(start, dates[i + 1])
            if date >= start + seconds:
                break
        for date in (start, start + seconds):
            if date not in dates:
                at = sum(other < date for other in dates)
                dates.insert(at, date)
                free.insert(at, free[at - 1])
        for i, date in enumerate(dates):
            if start <= date < start + seconds:
                free[i] -= need
        ends.append(start + seconds)
    return ends
