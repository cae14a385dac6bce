"""The network, layer by layer. Images are height x width x channels, sequences steps x features."""

from tensorflow import keras
from tensorflow.keras import layers
{{imports}}
DROPOUT = {{dropout}}


def build_network():
{{lines}}
    return keras.Model({{model_inputs}}, {{model_outputs}}, name={{name}})
