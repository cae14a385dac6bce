"""Published networks as PyTorch modules, for count_products.py. Sources stand with each."""
import torch
from torch import nn


def conv(channels, filters, kernel, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(filters)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Sum(nn.Module):
    def __init__(self, block, shortcut=None, act=None):
        super().__init__()
        self.block, self.shortcut, self.act = block, shortcut, act

    def forward(self, x):
        y = self.block(x) + (self.shortcut(x) if self.shortcut else x)
        return self.act(y) if self.act else y


class Pooled(nn.Module):
    """Mean over the image, then a classifier."""

    def __init__(self, features, width, classes=1000):
        super().__init__()
        self.features, self.classifier = features, nn.Linear(width, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


# He et al., CVPR 2016, table 1; the 3 x 3 convolution of a bottleneck carries the stride, as in torchvision.
def resnet(blocks, bottleneck):
    layers, channels = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(blocks):
        filters = 64 * 2**stage
        out = 4 * filters if bottleneck else filters
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            shortcut = conv(channels, out, 1, stride, act=None) if channels != out or stride > 1 else None
            if bottleneck:
                block = nn.Sequential(conv(channels, filters, 1), conv(filters, filters, 3, stride), conv(filters, out, 1, act=None))
            else:
                block = nn.Sequential(conv(channels, filters, 3, stride), conv(filters, out, 3, act=None))
            layers.append(Sum(block, shortcut, nn.ReLU()))
            channels = out
    return Pooled(nn.Sequential(*layers), channels)


# Krizhevsky 2014, one column; torchvision's alexnet.
def alexnet():
    shape = [(3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1), (384, 256, 3, 1, 1), (256, 256, 3, 1, 1)]
    layers = []
    for i, of in enumerate(shape):
        layers += [nn.Conv2d(*of), nn.ReLU()] + ([nn.MaxPool2d(3, 2)] if i in (0, 1, 4) else [])
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(9216, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))


# Simonyan and Zisserman, ICLR 2015, configuration D.
def vgg16():
    layers, channels = [], 3
    for count, filters in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            layers += [nn.Conv2d(channels, filters, 3, 1, 1), nn.ReLU()]
            channels = filters
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))


# Sandler et al., CVPR 2018, table 2.
def mobilenet_v2():
    layers, channels = [conv(3, 32, 3, 2, act=nn.ReLU6)], 32
    for t, c, n, s in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(n):
            stride, wide = (s if i == 0 else 1), channels * t
            expand = [conv(channels, wide, 1, act=nn.ReLU6)] if t > 1 else []
            block = nn.Sequential(*expand, conv(wide, wide, 3, stride, wide, nn.ReLU6), conv(wide, c, 1, act=None))
            layers.append(Sum(block) if stride == 1 and channels == c else block)
            channels = c
    return Pooled(nn.Sequential(*layers, conv(320, 1280, 1, act=nn.ReLU6)), 1280)


# Iandola et al. 2016, version 1.1 of the authors' repository.
class Fire(nn.Module):
    def __init__(self, channels, squeeze, expand):
        super().__init__()
        self.s, self.a, self.b = nn.Conv2d(channels, squeeze, 1), nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.s(x))
        return torch.cat([torch.relu(self.a(x)), torch.relu(self.b(x))], 1)


def squeezenet():
    pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool(), Fire(128, 32, 128),
                         Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
                         nn.Conv2d(512, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


# Ma et al., ECCV 2018, width 1.0: half of the channels pass by, and are shuffled with the others.
class Shuffle(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        half, inner = out // 2, channels if stride > 1 else out // 2
        depth = lambda c: conv(c, c, 3, stride, c, None)
        self.right = nn.Sequential(conv(inner, half, 1), depth(half), conv(half, half, 1))
        self.left = nn.Sequential(depth(channels), conv(channels, half, 1)) if stride > 1 else None

    def forward(self, x):
        left, right = (self.left(x), x) if self.left else x.chunk(2, 1)
        x = torch.cat([left, self.right(right)], 1)
        n, c, h, w = 1, x.shape[1], x.shape[2], x.shape[3]
        return x.reshape(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def shufflenet_v2():
    layers, channels = [conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for out, count in ((116, 4), (232, 8), (464, 4)):
        for i in range(count):
            layers.append(Shuffle(channels, out, 2 if i == 0 else 1))
            channels = out
    return Pooled(nn.Sequential(*layers, conv(464, 1024, 1)), 1024)


# Shi et al., PAMI 2017: convolutions over a line of text, columns as steps of two bidirectional LSTMs.
class Crnn(nn.Module):
    def __init__(self):
        super().__init__()
        c = lambda a, b, k=3, p=1: [nn.Conv2d(a, b, k, 1, p), nn.ReLU()]
        self.features = nn.Sequential(*c(1, 64), nn.MaxPool2d(2), *c(64, 128), nn.MaxPool2d(2), *c(128, 256), *c(256, 256),
                                      nn.MaxPool2d((2, 1)), *c(256, 512), nn.BatchNorm2d(512), *c(512, 512), nn.BatchNorm2d(512),
                                      nn.MaxPool2d((2, 1)), *c(512, 512, 2, 0))
        self.lstm, self.head = nn.LSTM(512, 256, 2, bidirectional=True), nn.Linear(512, 37)

    def forward(self, x):
        return self.head(self.lstm(self.features(x).squeeze(2).permute(2, 0, 1))[0])


# Vaswani et al., NeurIPS 2017, section 3: heads by reshaping and transposing, products of activations.
class Block(nn.Module):
    def __init__(self, width, heads, norm_first, act=nn.GELU):
        super().__init__()
        self.heads, self.norm_first = heads, norm_first
        self.qkv, self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(3)), nn.Linear(width, width)
        self.up, self.down, self.act = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), act()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attention(self, x):
        steps, width = x.shape[1], x.shape[2]
        q, k, v = (f(x).reshape(1, steps, self.heads, width // self.heads).transpose(1, 2) for f in self.qkv)
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * (width // self.heads) ** -0.5, -1)
        return self.out(torch.matmul(weights, v).transpose(1, 2).reshape(1, steps, width))

    def forward(self, x):
        dense = lambda x: self.down(self.act(self.up(x)))
        if self.norm_first:
            x = x + self.attention(self.n1(x))
            return x + dense(self.n2(x))
        x = self.n1(x + self.attention(x))
        return self.n2(x + dense(x))


class Vit(nn.Module):
    """Dosovitskiy et al., ICLR 2021, of the size Ti of Touvron et al., ICML 2021: no class token, the mean is classified."""

    def __init__(self, depth=2):
        super().__init__()
        self.patches = nn.Conv2d(3, 192, 16, 16)
        self.blocks, self.norm, self.head = nn.Sequential(*(Block(192, 3, True) for _ in range(depth))), nn.LayerNorm(192), nn.Linear(192, 1000)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.patches(x).flatten(2).transpose(1, 2))).mean(1))


# Devlin et al., NAACL 2019, base, with the head for questions (without the pooler); Radford et al. 2019, small.
class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, 768) for n in (30522, 512, 2))
        self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, 2)
        self.blocks = nn.Sequential(*(Block(768, 12, False) for _ in range(12)))

    def forward(self, x):
        return self.head(self.blocks(self.norm(sum(table(x) for table in self.tables))))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions, self.norm = nn.Embedding(50257, 768), nn.Embedding(1024, 768), nn.LayerNorm(768)
        self.blocks = nn.Sequential(*(Block(768, 12, True) for _ in range(12)))

    def forward(self, x):
        return nn.functional.linear(self.norm(self.blocks(self.words(x) + self.positions(x))), self.words.weight)


# Zaremba et al. 2014, "large"; PyTorch's LSTM has a second bias a gate.
class Rnnlm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(10000, 1500), nn.LSTM(1500, 1500, 2), nn.Linear(1500, 10000)

    def forward(self, x):
        return self.head(self.lstm(self.words(x))[0])


# keras.io, "Simple MNIST convnet": 34,826 parameters.
def mnist_convnet():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(1600, 10))


# Radford et al., ICLR 2016, the generator for 64 x 64 images.
def dcgan_generator():
    layers = [nn.ConvTranspose2d(100, 1024, 4, 1, 0, bias=False), nn.BatchNorm2d(1024), nn.ReLU()]
    for a, b in ((1024, 512), (512, 256), (256, 128)):
        layers += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(128, 3, 4, 2, 1), nn.Tanh())


# Bai et al. 2018: dilated convolutions over steps.
def tcn():
    layers, channels = [], 16
    for i in range(4):
        layers += [nn.Conv1d(channels, 64, 3, padding=2**i, dilation=2**i), nn.ReLU()]
        channels = 64
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 10))


def image(side=224, channels=3):
    return lambda: torch.zeros(1, channels, side, side)


def tokens(*sizes):
    return lambda: torch.zeros(sizes, dtype=torch.long)


NETWORKS = {
    "alexnet": (alexnet, image()),
    "vgg16": (vgg16, image()),
    "resnet18": (lambda: resnet((2, 2, 2, 2), False), image()),
    "resnet50": (lambda: resnet((3, 4, 6, 3), True), image()),
    "rnnlm": (Rnnlm, tokens(35, 1)),
    "bert": (Bert, tokens(1, 384)),
    "gpt2": (Gpt2, tokens(1, 1024)),
    "mobilenet_v2": (mobilenet_v2, image()),
    "squeezenet": (squeezenet, image()),
    "shufflenet_v2": (shufflenet_v2, image()),
    "crnn": (Crnn, lambda: torch.zeros(1, 1, 32, 100)),
    "vit": (Vit, image()),
    "dcgan_generator": (dcgan_generator, lambda: torch.zeros(1, 100, 1, 1)),
    "tcn": (tcn, lambda: torch.zeros(1, 16, 200)),
    "mnist_convnet": (mnist_convnet, image(28, 1)),
}
EXPORTED = {"mobilenet_v2", "squeezenet", "shufflenet_v2", "crnn", "vit", "dcgan_generator", "tcn"}
