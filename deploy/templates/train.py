#!/usr/bin/env python3
"""Trains the network of network.py as settings.py says, one process a worker (Horovod). Starts again from its last checkpoint.

    horovodrun -np N python3 train.py --data DATA --out OUT      python3 train.py --synthetic --steps 10 --out OUT

OUT gets checkpoints/, logs/ (tensorboard --logdir OUT/logs), metrics.jsonl (monitor.py reads it) and at the end model/weights
(build_network().load_weights). A file OUT/stop ends the training after a checkpoint."""

import argparse
import json
import os
import sys
import time

import schedule
import settings

try:
    import tensorflow as tf
except ImportError:
    sys.exit("train.py needs TensorFlow 2, which is not installed here: use the image of the Dockerfile beside it, or pip install tensorflow")
try:
    import horovod.tensorflow as hvd
except ImportError:
    hvd = None

import data
import objectives
from network import build_network


def arguments():
    parser = argparse.ArgumentParser(description="Trains as settings.py says.")
    parser.add_argument("--data", default="data", help="folder of train-* and validation-* (README.md)")
    parser.add_argument("--out", default="out", help="folder of checkpoints, logs and the model")
    parser.add_argument("--synthetic", action="store_true", help="random samples")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps (default: by epochs)")
    return parser.parse_args()


class Workers:
    """The processes that train together; a single one needs no Horovod."""

    def __init__(self):
        if hvd is not None:
            hvd.init()
        self.rank = hvd.rank() if hvd is not None else 0
        self.size = hvd.size() if hvd is not None else 1
        if self.size != len(settings.BATCHES):
            sys.exit("%d processes were started, but the batch is split over %d (settings.BATCHES)%s"
                     % (self.size, len(settings.BATCHES), "" if hvd is not None else "; Horovod is not installed"))
        gpus = tf.config.list_physical_devices("GPU")
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
        if gpus and hvd is not None:
            tf.config.set_visible_devices(gpus[hvd.local_rank() % len(gpus)], "GPU")

    def sums(self, tensors):
        if self.size == 1:
            return tensors
        return hvd.grouped_allreduce([tf.convert_to_tensor(tensor) for tensor in tensors], op=hvd.Sum)

    def broadcast(self, variables):
        if self.size > 1:
            hvd.broadcast_variables(variables, root_rank=0)


def make_optimizer():
    rate = settings.LEARNING_RATE
    if settings.OPTIMIZER == "adam":
        return tf.keras.optimizers.Adam(rate, beta_1=0.5 if settings.LOSS == "adversarial" else 0.9)
    return tf.keras.optimizers.SGD(rate, momentum=0.9 if settings.OPTIMIZER == "momentum" else 0.0)


def variables_of(optimizer):
    found = optimizer.variables
    return found() if callable(found) else found  # a method before TensorFlow 2.11


def groups(network):
    """The variables that each loss trains: the discriminator's and the generator's, or all."""
    if settings.LOSS != "adversarial":
        return [network.trainable_variables]
    own = {id(variable) for layer in network.layers if layer.name in settings.DISCRIMINATOR for variable in layer.trainable_variables}
    return [[v for v in network.trainable_variables if (id(v) in own) == mine] for mine in (True, False)]


class Training:
    def __init__(self, options):
        self.options = options
        self.workers = Workers()
        self.is_chief = self.workers.rank == 0
        self.share = schedule.share(settings.BATCHES, self.workers.rank)
        tf.random.set_seed(settings.SEED + self.workers.rank)
        self.network = build_network()
        self.groups = groups(self.network)
        self.optimizers = [make_optimizer() for _ in self.groups]
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.per_epoch = schedule.steps_per_epoch(settings)
        self.last_step = options.steps or int(settings.EPOCHS * self.per_epoch)
        self.train_step = tf.function(self.one_step)
        self.open_out(options.out)

    def open_out(self, out):
        saved = {"optimizer%d" % i: optimizer for i, optimizer in enumerate(self.optimizers)}
        checkpoint = tf.train.Checkpoint(network=self.network, step=self.step, **saved)
        self.checkpoints = tf.train.CheckpointManager(checkpoint, os.path.join(out, "checkpoints"), settings.KEPT_CHECKPOINTS)
        self.stop_file = os.path.join(out, "stop")
        if self.is_chief:
            os.makedirs(out, exist_ok=True)
            checkpoint.restore(self.checkpoints.latest_checkpoint)
            self.metrics = open(os.path.join(out, "metrics.jsonl"), "a", encoding="utf-8")
            self.board = tf.summary.create_file_writer(os.path.join(out, "logs"))
        self.saved_at = self.logged_at = time.time()
        self.logged_step = int(self.step)

    def one_step(self, inputs, label):
        """The sum over processes of weight x mean gradient is the mean over the global batch, however it is split."""
        with tf.GradientTape(persistent=True) as tape:
            outputs = self.network(inputs, training=True)
            losses = objectives.losses(outputs, label)
        for group, loss, optimizer in zip(self.groups, losses, self.optimizers):
            gradients = tape.gradient(loss, group)
            trained = [(g, v) for g, v in zip(gradients, group) if g is not None]
            gradients = self.workers.sums([tf.convert_to_tensor(g) * self.share[2] for g, _ in trained])
            if settings.CLIP_NORM is not None:
                gradients, _ = tf.clip_by_global_norm(gradients, settings.CLIP_NORM)
            decayed = [g + settings.WEIGHT_DECAY * v if len(v.shape) > 1 else g for g, (_, v) in zip(gradients, trained)]
            optimizer.apply_gradients(list(zip(decayed, [v for _, v in trained])))
        return losses[0]

    def run(self):
        self.workers.broadcast(self.network.variables + [self.step])
        alike = False
        while int(self.step) < self.last_step:
            epoch, skipped = divmod(int(self.step), self.per_epoch)
            for inputs, label in self.samples(epoch, skipped):
                rate = schedule.learning_rate(settings, int(self.step) / self.per_epoch)
                for optimizer in self.optimizers:
                    optimizer.learning_rate.assign(rate)
                loss = self.train_step(inputs, label)
                if not alike:  # optimisers have their variables, which a checkpoint may have given to the first process, only now
                    for optimizer in self.optimizers:
                        self.workers.broadcast(variables_of(optimizer))
                    self.workers.broadcast(self.network.variables)
                    alike = True
                self.step.assign_add(1)
                if self.after_step(loss, rate):
                    return
                if int(self.step) >= self.last_step or int(self.step) % self.per_epoch == 0:
                    break
            if int(self.step) % self.per_epoch == 0 and self.after_epoch(epoch + 1):
                break
        self.save()
        if self.is_chief:
            self.network.save_weights(os.path.join(self.options.out, "model", "weights"))

    def samples(self, epoch, skipped):
        if self.options.synthetic:
            return data.synthetic(self.network, self.share[1])
        return data.training(self.network, self.options.data, epoch, self.share, skipped)

    def after_step(self, loss, rate):
        """Whether to stop: when the file is there, all processes learn of it together."""
        step = int(self.step)
        if self.is_chief and time.time() - self.saved_at > settings.CHECKPOINT_S:
            self.save()
        if step % settings.LOG_STEPS != 0:
            return False
        asked = float(self.is_chief and os.path.exists(self.stop_file))
        total, stopped = [float(x) for x in self.workers.sums([loss * self.share[2], tf.constant(asked)])]
        seconds = (time.time() - self.logged_at) / (step - self.logged_step)
        self.logged_at, self.logged_step = time.time(), step
        self.log(step, loss=total, learning_rate=rate, step_s=seconds, samples_per_s=sum(settings.BATCHES) / seconds)
        if stopped:
            self.save()
        return stopped > 0

    def after_epoch(self, epoch):
        """Whether the target is reached."""
        accuracy = None
        if not self.options.synthetic:
            right = [tf.constant(0.0), tf.constant(0.0)]
            for inputs, label in data.validation(self.network, self.options.data, self.workers.rank, self.workers.size, self.share[1]):
                outputs = self.network(inputs, training=False)
                right = [a + b for a, b in zip(right, objectives.right(outputs, label))]
            count, of = [float(x) for x in self.workers.sums(right)]
            accuracy = count / max(1.0, of)
            self.log(int(self.step), epoch=epoch, accuracy=accuracy)
        self.save()
        self.logged_at, self.logged_step = time.time(), int(self.step)
        return accuracy is not None and settings.TARGET_ACCURACY is not None and accuracy >= settings.TARGET_ACCURACY

    def save(self):
        self.saved_at = time.time()
        if self.is_chief:
            self.checkpoints.save()

    def log(self, step, **values):
        if not self.is_chief:
            return
        self.metrics.write(json.dumps({"time_s": round(time.time(), 3), "step": step, **values}) + "\n")
        self.metrics.flush()
        with self.board.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        print("step %d of %d: %s" % (step, self.last_step, ", ".join("%s %.5g" % item for item in values.items())), flush=True)


if __name__ == "__main__":
    Training(arguments()).run()
