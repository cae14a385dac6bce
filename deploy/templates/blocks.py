"""Layers that Keras does not have."""

import tensorflow as tf
from tensorflow import keras


class Heads(keras.layers.Layer):
    """Scaled dot products of queries, keys and values, which have been projected before (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, heads, causal=False, **options):
        super().__init__(**options)
        self.heads = heads
        self.causal = causal

    def call(self, inputs):
        query, key, value = [self.split(x) for x in inputs]
        scores = tf.matmul(query, key, transpose_b=True) / tf.math.sqrt(tf.cast(tf.shape(query)[-1], query.dtype))
        if self.causal:
            seen = tf.linalg.band_part(tf.ones(tf.shape(scores)[-2:], scores.dtype), -1, 0)
            scores += (1 - seen) * scores.dtype.min
        context = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        shape = tf.shape(context)
        return tf.reshape(context, [shape[0], shape[1], self.heads * value.shape[-1]])

    def split(self, x):
        shape = tf.shape(x)
        return tf.transpose(tf.reshape(x, [shape[0], shape[1], self.heads, x.shape[-1] // self.heads]), [0, 2, 1, 3])


class LocalResponseNorm(keras.layers.Layer):
    """Krizhevsky et al. 2012, section 3.3."""

    def __init__(self, size, **options):
        super().__init__(**options)
        self.size = size

    def call(self, inputs):
        return tf.nn.local_response_normalization(inputs, self.size // 2, bias=2.0, alpha=1e-4, beta=0.75)


class Positions(keras.layers.Layer):
    """The index of each token in its sequence."""

    def call(self, tokens):
        return tf.zeros_like(tokens) + tf.range(tf.shape(tokens)[1], dtype=tokens.dtype)


class Segments(keras.layers.Layer):
    """0 up to the first separator, 1 after it (Devlin et al. 2019, section 3). 102 is [SEP] in BERT's English vocabulary."""

    def __init__(self, separator=102, **options):
        super().__init__(**options)
        self.separator = separator

    def call(self, tokens):
        separators = tf.cumsum(tf.cast(tf.equal(tokens, self.separator), tokens.dtype), axis=1, exclusive=True)
        return tf.minimum(separators, 1)


class Tied(keras.layers.Layer):
    """A dense layer without bias whose weights are an embedding's (Press and Wolf 2017)."""

    def __init__(self, embedding, **options):
        super().__init__(**options)
        self.embedding = embedding

    def call(self, inputs):
        return tf.matmul(inputs, self.embedding.embeddings, transpose_b=True)


class Detached(keras.layers.Layer):
    """Hands its input on, but no gradient back."""

    def call(self, inputs):
        return tf.stop_gradient(inputs)
