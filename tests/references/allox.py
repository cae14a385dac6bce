"""AlloX's matching as Gavel's simulator has it, from the definitions: at each arrival and end those that wait are matched with places of
the devices that are free, for the least sum of completion times, and whoever is first on one starts, for good."""
import math


def matching(costs):
    """Column of each row, of the least sum: the Hungarian method on a whole matrix, not more rows than columns."""
    rows, columns = len(costs), len(costs[0])
    of_row, of_column, row_at = [0.0] * (rows + 1), [0.0] * (columns + 1), [-1] * (columns + 1)
    for row in range(rows):
        row_at[columns], at = row, columns
        least, before, done = [math.inf] * (columns + 1), [columns] * (columns + 1), [False] * (columns + 1)
        while row_at[at] >= 0:
            done[at], this, nearest = True, row_at[at], -1
            for column in range(columns):
                if not done[column]:
                    distance = costs[this][column] - of_row[this] - of_column[column]
                    if distance < least[column]:
                        least[column], before[column] = distance, at
                    if nearest < 0 or least[column] < least[nearest]:
                        nearest = column
            step = least[nearest]
            for column in range(columns + 1):
                if done[column]:
                    of_row[row_at[column]] += step
                    of_column[column] -= step
                else:
                    least[column] -= step
            at = nearest
        while at != columns:
            row_at[at] = row_at[before[at]]
            at = before[at]
    return {row_at[column]: column for column in range(columns) if row_at[column] >= 0}


def schedule(jobs, devices):
    """Ends of jobs (submitted, seconds by pool) on so many devices of each pool."""
    ends, free, running, waiting, arrived = [0] * len(jobs), list(devices), [], [], 0
    while arrived < len(jobs) or running:
        now = min([end for end, _, _ in running] + [job[0] for job in jobs[arrived:arrived + 1]])
        for end, job, pool in [one for one in running if one[0] <= now]:
            running.remove((end, job, pool))
            ends[job] = end
            free[pool] += 1
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            waiting.append(arrived)
            arrived += 1
        on = [pool for pool, count in enumerate(free) for _ in range(min(count, len(waiting)))]
        if not on or not waiting:
            continue
        # Column k x devices + device: the place before k others there.
        costs = [[(k + 1) * jobs[job][1][pool] for k in range(len(waiting)) for pool in on] for job in waiting]
        first = {}
        for row, column in matching(costs).items():
            first[column % len(on)] = max(first.get(column % len(on), (-1, 0)), (column // len(on), waiting[row]))
        for device, (_, job) in first.items():
            running.append((now + jobs[job][1][on[device]], job, on[device]))
            free[on[device]] -= 1
            waiting.remove(job)
    return ends
