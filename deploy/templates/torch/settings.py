"""What was planned for this training. All other files read it here."""

JOB = {{job}}
MODEL = {{model}}
DATASET = {{dataset}}
DEVICE = {{device}}
POOL = {{pool}}

# Samples of each process a step, in the order of the processes; their sum is the global batch. They need not be equal: the
# gradients are weighted.
BATCHES = {{batches}}
ACCUMULATION = {{accumulation}}  # parts in which a process trains its samples of a step; their gradients are summed
NODES = {{nodes}}
WORKERS_PER_NODE = {{workers_per_node}}

EPOCHS = {{epochs}}
TRAINING_SAMPLES = {{training_samples}}
TARGET_ACCURACY = {{target_accuracy}}  # training stops there; None: after the epochs

PRECISION = {{precision}}  # fp32; tf32: its products on GPUs that have them; fp16: automatic mixed precision, scaled; bf16: the same, unscaled
OPTIMIZER = {{optimizer}}  # sgd, momentum or adam
LEARNING_RATE = {{learning_rate}}  # after the warm-up, at the global batch
WARMUP_EPOCHS = {{warmup_epochs}}  # linearly from the rate of one process
SCHEDULE = {{schedule}}  # steps: a tenth after 1/3, 2/3 and 8/9 of the epochs; cosine; constant
WEIGHT_DECAY = {{weight_decay}}  # of matrices and filters
CLIP_NORM = {{clip_norm}}  # of all gradients together; None: not at all
DROPOUT = {{dropout}}
SEED = 1

CHECKPOINT_S = {{checkpoint_s}}  # seconds between checkpoints, besides one after each epoch and one when it is told to end
LOG_STEPS = 20  # steps between two lines of metrics
STOP_STEPS = 10  # steps between two questions whether any process was told to end

LOSS = {{loss}}  # classes: one label a sample; positions: one for each position
CLASSES = {{classes}}
