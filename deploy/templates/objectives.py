"""What is minimised, and what is counted as right."""

import tensorflow as tf

import settings


def cross_entropy(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def against(value, logits):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.fill(tf.shape(logits), value), logits=logits))


def frames(logits):
    """How many steps each output sequence has."""
    return tf.fill([tf.shape(logits)[0]], tf.shape(logits)[1])


def losses(outputs, label):
    """A mean over the process's samples for each group of variables that is trained (train.py)."""
    logits = outputs[0]
    if settings.LOSS == "adversarial":
        on_real, on_generated, for_generator = outputs
        return [against(1.0, on_real) + against(0.0, on_generated), against(1.0, for_generator)]
    if settings.LOSS == "span":  # the positions of first and last token are the classes
        return [cross_entropy(label, tf.transpose(logits, [0, 2, 1]))]
    if settings.LOSS == "ctc":  # Graves et al. 2006; class 0 is the blank
        lengths = tf.math.count_nonzero(label, axis=1, dtype=tf.int32)
        return [tf.reduce_mean(tf.nn.ctc_loss(tf.cast(label, tf.int32), logits, lengths, frames(logits), logits_time_major=False,
                                              blank_index=0))]
    return [cross_entropy(label, logits)]


def right(outputs, label):
    """(what was right, of how many); for a sequence of characters 1 - edits / length, for an adversary its share of real samples
    that it knows."""
    logits = outputs[0]
    if settings.LOSS == "adversarial":
        found = tf.cast(logits > 0, tf.float32)
    elif settings.LOSS == "span":
        guess = tf.argmax(logits, axis=1)
        found = tf.cast(tf.reduce_all(tf.equal(guess, label), axis=1), tf.float32)
    elif settings.LOSS == "ctc":
        (guess,), _ = tf.nn.ctc_greedy_decoder(tf.transpose(logits, [1, 0, 2]), frames(logits), blank_index=0)
        found = 1 - tf.minimum(1.0, tf.edit_distance(guess, tf.sparse.from_dense(label)))
    else:
        found = tf.cast(tf.equal(tf.argmax(logits, axis=-1), label), tf.float32)
    return tf.reduce_sum(found), tf.cast(tf.size(found), tf.float32)
