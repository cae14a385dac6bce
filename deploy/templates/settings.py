"""What was planned for this training. All other files read it here."""

JOB = {{job}}
MODEL = {{model}}
DATASET = {{dataset}}
DEVICE = {{device}}
POOL = {{pool}}

# Samples of each process a step, in the order of the processes; their sum is the global batch. They need not be equal: the
# gradients are weighted.
BATCHES = {{batches}}
NODES = {{nodes}}
WORKERS_PER_NODE = {{workers_per_node}}

EPOCHS = {{epochs}}
TRAINING_SAMPLES = {{training_samples}}
TARGET_ACCURACY = {{target_accuracy}}  # training stops there; None: after the epochs

OPTIMIZER = {{optimizer}}  # sgd, momentum or adam
LEARNING_RATE = {{learning_rate}}  # after the warm-up, at the global batch
WARMUP_EPOCHS = {{warmup_epochs}}  # linearly from the rate of one process
SCHEDULE = {{schedule}}  # steps: a tenth after 1/3, 2/3 and 8/9 of the epochs; cosine; constant
WEIGHT_DECAY = {{weight_decay}}  # of matrices and filters
CLIP_NORM = {{clip_norm}}  # of all gradients together; None: not at all
SEED = 1

CHECKPOINT_S = {{checkpoint_s}}  # seconds between checkpoints, besides one after each epoch
KEPT_CHECKPOINTS = 3
LOG_STEPS = 20  # steps between two lines of metrics

# classes: one label a sample; positions: one for each position; span: first and last position of an answer; ctc: a sequence
# shorter than the output; adversarial: a discriminator on real and generated samples, and a generator.
LOSS = {{loss}}
# Inputs of the network that are drawn at random, not read.
NOISE_INPUTS = {{noise_inputs}}
# Layers that an adversarial training's discriminator owns.
DISCRIMINATOR = {{discriminator}}
# The features of a record that hold each input of the network, and the label.
FEATURES = {{features}}
FIRST_LABEL = 0  # what the records call the first class
