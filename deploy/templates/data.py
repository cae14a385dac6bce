"""Samples from TFRecord files: DATA/train-* and DATA/validation-*, records of tf.train.Example (README.md has the features)."""

import glob
import os
import sys

import tensorflow as tf

import settings

SHUFFLED = 10_000  # records among which the next one is drawn


def example_features(network):
    """How to parse a record: images are encoded files, tokens integers, all else floats."""
    parsed = {}
    for name, tensor in zip(network.input_names, network.inputs):
        if name in settings.NOISE_INPUTS:
            continue
        if is_image(tensor):
            parsed[settings.FEATURES[name]] = tf.io.FixedLenFeature([], tf.string)
        else:
            kind = tf.int64 if tensor.dtype.is_integer else tf.float32
            parsed[settings.FEATURES[name]] = tf.io.FixedLenFeature(tensor.shape[1:], kind)
    label = settings.FEATURES["label"]
    if settings.LOSS == "ctc":
        parsed[label] = tf.io.VarLenFeature(tf.int64)
    elif settings.LOSS == "classes":
        parsed[label] = tf.io.FixedLenFeature([], tf.int64)
    elif settings.LOSS == "positions":
        parsed[label] = tf.io.FixedLenFeature([network.outputs[0].shape[1]], tf.int64)
    elif settings.LOSS == "span":
        parsed[label] = tf.io.FixedLenFeature([2], tf.int64)
    return parsed


def is_image(tensor):
    return len(tensor.shape) == 4 and tensor.shape[-1] in (1, 3)


def decoder(network, training):
    """From a serialized record to ({input: tensor}, label)."""
    features = example_features(network)
    shapes = {name: tensor.shape for name, tensor in zip(network.input_names, network.inputs)}
    images = {name for name, tensor in zip(network.input_names, network.inputs) if is_image(tensor)}

    def image(encoded, shape):
        height, width, channels = shape[1:]
        pixels = tf.io.decode_image(encoded, channels=channels, expand_animations=False)
        if training:
            pixels = tf.image.resize(pixels, (height + height // 8, width + width // 8))
            pixels = tf.image.random_flip_left_right(tf.image.random_crop(pixels, (height, width, channels)))
        else:
            pixels = tf.image.resize(pixels, (height, width))
        return pixels / 127.5 - 1

    def decode(record):
        values = tf.io.parse_single_example(record, features)
        inputs = {}
        for name, shape in shapes.items():
            if name in settings.NOISE_INPUTS:
                inputs[name] = tf.random.normal(shape[1:])
                continue
            value = values[settings.FEATURES[name]]
            inputs[name] = image(value, shape) if name in images else value
            if inputs[name].dtype == tf.int64:
                inputs[name] = tf.cast(inputs[name], tf.int32)
        label = values.get(settings.FEATURES["label"], tf.constant(0, tf.int64))
        if settings.LOSS == "ctc":
            label = tf.sparse.to_dense(label)
        return inputs, label - settings.FIRST_LABEL if settings.LOSS == "classes" else label

    return decode


def batched(samples, size):
    """Sequences of labels, which differ in length, are filled up with 0."""
    return samples.padded_batch(size) if settings.LOSS == "ctc" else samples.batch(size)


def files(folder, part):
    found = sorted(glob.glob(os.path.join(glob.escape(folder), part + "-*")))
    if not found:
        sys.exit("there is no file %s-* in %s: README.md says what goes there; --synthetic trains on random samples" % (part, folder))
    return found


def training(network, folder, epoch, share, skipped):
    """This process's part of every step of an epoch. All processes read the same records in the same order and each keeps its
    slice of every global batch, so that shares may differ and all have the same number of steps; only the slice is decoded."""
    first, own, _ = share
    seed = settings.SEED + epoch
    names = tf.data.Dataset.from_tensor_slices(files(folder, "train")).shuffle(100_000, seed=seed)
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=8, deterministic=True).shuffle(SHUFFLED, seed=seed)
    steps = records.batch(sum(settings.BATCHES), drop_remainder=True).skip(skipped)
    slices = steps.map(lambda batch: batch[first:first + own]).unbatch()
    samples = slices.map(decoder(network, True), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return batched(samples, own).prefetch(tf.data.AUTOTUNE)


def validation(network, folder, rank, size, batch):
    records = tf.data.TFRecordDataset(files(folder, "validation")).shard(size, rank)
    samples = records.map(decoder(network, False), num_parallel_calls=tf.data.AUTOTUNE)
    return batched(samples, batch).prefetch(tf.data.AUTOTUNE)


def synthetic(network, batch):
    """One random batch again and again: tries a training without data, and times it without a disk."""
    classes = network.outputs[0].shape[-1]
    inputs = {}
    for name, tensor in zip(network.input_names, network.inputs):
        shape = [batch] + list(tensor.shape[1:])
        inputs[name] = tf.zeros(shape, tf.int32) if tensor.dtype.is_integer else tf.random.normal(shape)
    positions = network.outputs[0].shape[1]
    shape, limit = {
        "classes": ([batch], classes),
        "positions": ([batch, positions], classes),
        "span": ([batch, 2], positions),
        "ctc": ([batch, 8], classes),
        "adversarial": ([batch], 1),
    }[settings.LOSS]
    least = 1 if settings.LOSS == "ctc" else 0
    label = tf.random.uniform(shape, least, max(limit, least + 1), tf.int64)
    return tf.data.Dataset.from_tensors((inputs, label)).repeat()
