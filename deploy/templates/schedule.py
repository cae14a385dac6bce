"""Learning rate and shares of the batch: plain Python, so that it can be tried without TensorFlow."""

import math


def learning_rate(settings, epoch):
    """The rate after so many epochs (a fraction too): a linear warm-up from the rate that one process would use (Goyal et al. 2017,
    section 2.2), then the schedule."""
    full = settings.LEARNING_RATE
    if epoch < settings.WARMUP_EPOCHS:
        first = full / len(settings.BATCHES)
        return first + (full - first) * epoch / settings.WARMUP_EPOCHS
    done = min(1.0, epoch / settings.EPOCHS)
    if settings.SCHEDULE == "steps":
        return full * 0.1 ** sum(done >= drop for drop in (1 / 3, 2 / 3, 8 / 9))
    if settings.SCHEDULE == "cosine":
        return full * 0.5 * (1 + math.cos(math.pi * done))
    return full


def share(batches, rank):
    """Which samples of the global batch are a process's: the first one, and how many. And the weight of its mean gradient."""
    return sum(batches[:rank]), batches[rank], batches[rank] / sum(batches)


def steps_per_epoch(settings):
    return max(1, settings.TRAINING_SAMPLES // sum(settings.BATCHES))
