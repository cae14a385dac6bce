"""The model zoo (workloads/zoo/*.cpp) in PyTorch, layer for layer, for measure.py: one training step on synthetic samples.

PyTorch's recurrent layers have a second bias a gate, which the zoo's do not: it stays at zero and is not trained. DeepSpeech-2
classifies every frame with cross entropy, as the zoo counts it, instead of CTC.
"""
import torch
from torch import nn
from torch.nn import functional


def conv_bn(inputs, filters, kernel, stride=1, pad=0):
    return nn.Sequential(nn.Conv2d(inputs, filters, kernel, stride, pad, bias=False), nn.BatchNorm2d(filters))


def conv_bn_relu(inputs, filters, kernel, stride=1, pad=0):
    return conv_bn(inputs, filters, kernel, stride, pad).append(nn.ReLU(inplace=True))


def pooled_classifier(inputs, classes, *before):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), *before, nn.Flatten(), nn.Linear(inputs, classes))


# Residual networks (He et al. 2016)


class Residual(nn.Module):
    def __init__(self, inputs, filters, stride, bottleneck, projection):
        super().__init__()
        outputs = 4 * filters if bottleneck else filters
        if bottleneck:
            self.branch = nn.Sequential(conv_bn_relu(inputs, filters, 1), conv_bn_relu(filters, filters, 3, stride, 1),
                                        conv_bn(filters, outputs, 1))
        else:
            self.branch = nn.Sequential(conv_bn_relu(inputs, filters, 3, stride, 1), conv_bn(filters, outputs, 3, 1, 1))
        self.shortcut = conv_bn(inputs, outputs, 1, stride) if projection else nn.Identity()

    def forward(self, x):
        return functional.relu(self.branch(x) + self.shortcut(x), inplace=True)


def resnet(blocks, bottleneck=False, first_filters=64):
    """Small images keep their size in the stem, as usual on CIFAR. Three stages are section 4.2's networks."""
    def build(sample, classes):
        small = sample[1] < 64
        stem = conv_bn_relu(sample[0], first_filters, 3, 1, 1) if small else conv_bn_relu(sample[0], first_filters, 7, 2, 3)
        layers = [stem] + ([] if small else [nn.MaxPool2d(3, 2, 1)])
        width = first_filters
        for stage, count in enumerate(blocks):
            filters = first_filters << stage
            for i in range(count):
                first = i == 0
                projection = first and (stage > 0 or bottleneck)
                layers.append(Residual(width, filters, 2 if first and stage else 1, bottleneck, projection))
                width = 4 * filters if bottleneck else filters
        return nn.Sequential(*layers, pooled_classifier(width, classes))
    return build


# AlexNet (Krizhevsky 2014, one column) and VGG (Simonyan and Zisserman 2015)


def dense_head(inputs, classes):
    return [nn.Flatten(), nn.Linear(inputs, 4096), nn.ReLU(inplace=True), nn.Dropout(),
            nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, classes)]


def with_dense_head(features, sample, classes):
    with torch.no_grad():
        inputs = nn.Sequential(*features)(torch.zeros(1, *sample)).numel()
    return nn.Sequential(*features, *dense_head(inputs, classes))


def alexnet(sample, classes):
    features, width = [], sample[0]
    for filters, kernel, stride, pad, pool in ((64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False),
                                               (256, 3, 1, 1, False), (256, 3, 1, 1, True)):
        features += [nn.Conv2d(width, filters, kernel, stride, pad), nn.ReLU(inplace=True)] + [nn.MaxPool2d(3, 2)] * pool
        width = filters
    return with_dense_head(features, sample, classes)


def vgg(convolutions):
    def build(sample, classes):
        features, width = [], sample[0]
        for filters, count in zip((64, 128, 256, 512, 512), convolutions):
            for _ in range(count):
                features += [nn.Conv2d(width, filters, 3, 1, 1), nn.ReLU(inplace=True)]
                width = filters
            features.append(nn.MaxPool2d(2))
        return with_dense_head(features, sample, classes)
    return build


# Inception-v3 (Szegedy et al. 2016) without its auxiliary head


class Branches(nn.Module):
    """Each branch sees the input; the outputs are joined along the channels."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def chain(inputs, *steps):
    """Steps are (filters, kernel, stride); stride 1 keeps the size, stride 2 has no padding."""
    layers = []
    for filters, kernel, stride in steps:
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        pad = (kernel[0] // 2, kernel[1] // 2) if stride == 1 else 0
        layers.append(conv_bn_relu(inputs, filters, kernel, stride, pad))
        inputs = filters
    return nn.Sequential(*layers)


def average_pool(inputs, filters):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), chain(inputs, (filters, 1, 1)))


def inception_v3(sample, classes):
    row, column = (1, 7), (7, 1)
    layers = [conv_bn_relu(sample[0], 32, 3, 2), conv_bn_relu(32, 32, 3), conv_bn_relu(32, 64, 3, 1, 1), nn.MaxPool2d(3, 2),
              conv_bn_relu(64, 80, 1), conv_bn_relu(80, 192, 3), nn.MaxPool2d(3, 2)]
    for inputs, pool in ((192, 32), (256, 64), (288, 64)):
        layers.append(Branches(chain(inputs, (64, 1, 1)), chain(inputs, (48, 1, 1), (64, 5, 1)),
                               chain(inputs, (64, 1, 1), (96, 3, 1), (96, 3, 1)), average_pool(inputs, pool)))
    layers.append(Branches(chain(288, (384, 3, 2)), chain(288, (64, 1, 1), (96, 3, 1), (96, 3, 2)), nn.MaxPool2d(3, 2)))
    for f in (128, 160, 160, 192):
        layers.append(Branches(chain(768, (192, 1, 1)), chain(768, (f, 1, 1), (f, row, 1), (192, column, 1)),
                               chain(768, (f, 1, 1), (f, column, 1), (f, row, 1), (f, column, 1), (192, row, 1)),
                               average_pool(768, 192)))
    layers.append(Branches(chain(768, (192, 1, 1), (320, 3, 2)),
                           chain(768, (192, 1, 1), (192, row, 1), (192, column, 1), (192, 3, 2)), nn.MaxPool2d(3, 2)))
    for inputs in (1280, 2048):
        def split(width):
            return Branches(chain(width, (384, (1, 3), 1)), chain(width, (384, (3, 1), 1)))
        layers.append(Branches(chain(inputs, (320, 1, 1)), chain(inputs, (384, 1, 1)).append(split(384)),
                               chain(inputs, (448, 1, 1), (384, 3, 1)).append(split(384)), average_pool(inputs, 192)))
    return nn.Sequential(*layers, pooled_classifier(2048, classes, nn.Dropout()))


# YOLOv3 (Redmon and Farhadi 2018)


def darknet(inputs, filters, kernel, stride=1):
    return conv_bn(inputs, filters, kernel, stride, kernel // 2).append(nn.LeakyReLU(0.1, inplace=True))


class DarknetResidual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.branch = nn.Sequential(darknet(width, width // 2, 1), darknet(width // 2, width, 3))

    def forward(self, x):
        return self.branch(x) + x


class Yolov3(nn.Module):
    """The answers of its three scales, a vector of classes' numbers at every position; counted as one cross entropy."""

    def __init__(self, sample, classes):
        super().__init__()
        width, self.stages = 32, nn.ModuleList()
        self.stem = darknet(sample[0], width, 3)
        for blocks in (1, 2, 8, 8, 4):
            self.stages.append(nn.Sequential(darknet(width, 2 * width, 3, 2), *(DarknetResidual(2 * width) for _ in range(blocks))))
            width *= 2
        self.narrow, self.branches, self.heads = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for scale, filters in enumerate((1024, 512, 256)):
            if scale:
                self.narrow.append(nn.Sequential(darknet(filters, filters // 2, 1), nn.Upsample(scale_factor=2)))
            half, inputs = filters // 2, filters if scale == 0 else filters + filters // 2
            self.branches.append(nn.Sequential(darknet(inputs, half, 1), darknet(half, filters, 3), darknet(filters, half, 1),
                                               darknet(half, filters, 3), darknet(filters, half, 1)))
            self.heads.append(nn.Sequential(darknet(half, filters, 3), nn.Conv2d(filters, 3 * (5 + classes), 1)))

    def forward(self, x):
        kept, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            kept.append(x)
        answers = []
        for scale, (branch, head) in enumerate(zip(self.branches, self.heads)):
            x = branch(torch.cat([self.narrow[scale - 1](x), kept[4 - scale]], 1) if scale else x)
            answers.append(head(x).flatten(2).transpose(1, 2).flatten(0, 1))
        return torch.cat(answers)


# Recurrent networks


def one_bias(recurrent):
    for name, parameter in recurrent.named_parameters():
        if name.startswith("bias_hh"):
            parameter.requires_grad_(False).zero_()
    return recurrent


class LanguageModel(nn.Module):
    """"Large" of Zaremba et al. 2014."""

    def __init__(self, sample, classes, hidden=1500):
        super().__init__()
        self.embedding = nn.Embedding(classes, hidden)
        self.dropout = nn.Dropout(0.65)
        self.lstm = one_bias(nn.LSTM(hidden, hidden, 2, batch_first=True, dropout=0.65))
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, tokens):
        return self.classifier(self.dropout(self.lstm(self.dropout(self.embedding(tokens)))[0])).flatten(0, 1)


class DeepSpeech2(nn.Module):
    """Amodei et al. 2016, in the widths of the usual open implementation: five bidirectional GRU layers of 800, summed."""

    def __init__(self, sample, classes, hidden=800):
        super().__init__()
        layers = []
        for inputs, kernel, stride, pad in ((1, (41, 11), (2, 2), (20, 5)), (32, (21, 11), (2, 1), (10, 5))):
            layers += [nn.Conv2d(inputs, 32, kernel, stride, pad), nn.BatchNorm2d(32), nn.Hardtanh(0, 20, inplace=True)]
        self.convolutions = nn.Sequential(*layers)
        width = 32 * ((sample[1] + 1) // 2 + 1 >> 1)
        self.recurrent = nn.ModuleList(one_bias(nn.GRU(hidden if i else width, hidden, batch_first=True, bidirectional=True))
                                       for i in range(5))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(5))
        self.classifier = nn.Linear(hidden, classes, bias=False)

    def forward(self, spectrograms):
        x = self.convolutions(spectrograms).flatten(1, 2).transpose(1, 2)  # batch, time, features
        for recurrent, norm in zip(self.recurrent, self.norms):  # the norm behind a layer is the zoo's before the next one
            x = recurrent(x)[0].unflatten(-1, (2, -1)).sum(-2)
            x = norm(x.transpose(1, 2)).transpose(1, 2)
        return self.classifier(x).flatten(0, 1)


# DCGAN (Radford et al. 2016) on 64 x 64 images, 64 to 512 filters


def generator():
    layers, width = [], 100
    for i, filters in enumerate((512, 256, 128, 64)):
        layers += [nn.ConvTranspose2d(width, filters, 4, 1 if i == 0 else 2, 0 if i == 0 else 1, bias=False),
                   nn.BatchNorm2d(filters), nn.ReLU(inplace=True)]
        width = filters
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator():
    layers, width = [], 3
    for i, filters in enumerate((64, 128, 256, 512)):
        layers += [nn.Conv2d(width, filters, 4, 2, 1, bias=False)] + ([nn.BatchNorm2d(filters)] if i else [])
        layers.append(nn.LeakyReLU(0.2, inplace=True))
        width = filters
    return nn.Sequential(*layers, nn.Conv2d(512, 1, 4, bias=False), nn.Flatten(0))


# Training steps. `clock.phase(NAME)` says what the step does from here on.


def optimizer_of(name, parameters):
    parameters = [p for p in parameters if p.requires_grad]
    if name == "adam":
        return torch.optim.Adam(parameters, 2e-4, betas=(0.5, 0.999))
    return torch.optim.SGD(parameters, 1e-3, momentum=0.9 if name == "momentum" else 0)


class Supervised:
    def __init__(self, network, optimizer, device):
        self.networks = [network.to(device).train()]
        self.optimizer = optimizer_of(optimizer, network.parameters())

    def load(self, inputs, classes):
        """The samples of every step from here on; the targets are drawn to fit the network's answer."""
        self.inputs = inputs
        with torch.no_grad():
            answers = len(self.networks[0](inputs))
        self.targets = torch.randint(classes, (answers,), device=inputs.device)

    def step(self, clock):
        clock.phase("forward")
        loss = functional.cross_entropy(self.networks[0](self.inputs), self.targets)
        clock.phase("backward")
        loss.backward()
        clock.phase("update")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


class Adversarial:
    """The discriminator on real and on generated images, then once more on the generated ones for the generator."""

    def __init__(self, optimizer, device):
        self.networks = [generator().to(device).train(), discriminator().to(device).train()]
        self.optimizers = [optimizer_of(optimizer, network.parameters()) for network in self.networks]

    def load(self, inputs, _classes):
        self.real = inputs
        self.noise = torch.randn(len(inputs), 100, 1, 1, device=inputs.device)
        self.yes, self.no = torch.ones(len(inputs), device=inputs.device), torch.zeros(len(inputs), device=inputs.device)

    def step(self, clock):
        make, judge = self.networks
        loss = functional.binary_cross_entropy_with_logits
        clock.phase("forward")
        generated = make(self.noise)
        both = loss(judge(self.real), self.yes) + loss(judge(generated.detach()), self.no)
        clock.phase("backward")
        both.backward()
        clock.phase("update")
        self.optimizers[1].step()
        self.optimizers[1].zero_grad(set_to_none=True)
        clock.phase("forward")
        fooled = loss(judge(generated), self.yes)
        clock.phase("backward")
        fooled.backward()
        clock.phase("update")
        self.optimizers[0].step()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)


BUILDERS = {"alexnet": alexnet, "vgg16": vgg((2, 2, 3, 3, 3)), "vgg19": vgg((2, 2, 4, 4, 4)), "resnet18": resnet((2, 2, 2, 2)),
            "resnet32": resnet((5, 5, 5), first_filters=16), "resnet34": resnet((3, 4, 6, 3)),
            "resnet50": resnet((3, 4, 6, 3), True), "resnet101": resnet((3, 4, 23, 3), True),
            "resnet152": resnet((3, 8, 36, 3), True), "inception-v3": inception_v3, "yolov3": Yolov3, "rnnlm": LanguageModel,
            "deepspeech2": DeepSpeech2}


def training(model, optimizer, sample, classes, device):
    """What trains the zoo's model on samples of this shape; load() its batch, then step()."""
    if model == "dcgan":
        return Adversarial(optimizer, device)
    return Supervised(BUILDERS[model](sample, classes), optimizer, device)


def samples(shape, classes, batch, device):
    """A batch of noise images, or of words for a shape of one number."""
    if len(shape) == 1:
        return torch.randint(classes, (batch, *shape), device=device)
    return torch.randn(batch, *shape, device=device)


def parameters(trained):
    return sum(p.numel() for network in trained.networks for p in network.parameters() if p.requires_grad)


def forward_flops(trained):
    """FLOPs of the matrix products of a step's forward passes on the loaded batch; a multiply-add counts 2."""
    total = 0

    def count(module, inputs, output):
        nonlocal total
        if isinstance(module, nn.Conv2d):
            total += 2 * output.numel() * module.weight[0].numel()
        elif isinstance(module, nn.ConvTranspose2d):
            total += 2 * inputs[0].numel() * module.weight[0].numel()
        elif isinstance(module, nn.Linear):
            total += 2 * output.numel() * module.in_features
        elif isinstance(module, nn.RNNBase):
            steps = inputs[0].shape[0] * inputs[0].shape[1]
            total += 2 * steps * sum(p.numel() for p in module.parameters() if p.dim() == 2)

    hooks = [module.register_forward_hook(count) for network in trained.networks for module in network.modules()]
    trained.step(NoClock())
    for hook in hooks:
        hook.remove()
    return total


class NoClock:
    def phase(self, _name):
        pass
