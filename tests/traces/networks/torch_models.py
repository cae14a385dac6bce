"""Small modules of the kinds that users have, each with an example input. What Rehearse reads of them is compared with their parameters and with
the products that PyTorch computes."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters)
        self.conv2, self.bn2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or channels != filters:
            self.down = nn.Sequential(nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.down is None else self.down(x)
        return self.relu(out)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class StepsFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(128, 256), nn.Linear(256, 10)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][-1])


class BatchFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(128, 96, num_layers=2, batch_first=True, dropout=0.1), nn.Linear(96, 10)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return self.fc(y[:, -1])


class BothWays(nn.Module):
    """A head on the last states of both directions; two biases a gate."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.rnn, self.fc = nn.GRU(64, 32, 2, bidirectional=True, batch_first=True), nn.Linear(64, 5)

    def forward(self, x):
        _, h = self.rnn(self.embed(x))
        return self.fc(torch.cat((h[-2], h[-1]), 1))


class LastState(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(128, 64, batch_first=True), nn.Linear(64, 1000)

    def forward(self, x):
        _, (h, _) = self.rnn(x)
        return self.fc(h.squeeze(0))


class TokensStepsFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.fc = nn.Embedding(50, 16), nn.RNN(16, 12, nonlinearity="relu", bias=False), nn.Linear(12, 50)

    def forward(self, x):
        y, _ = self.rnn(self.embed(x))
        return self.fc(y)


class Shuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(24, 240, 1, groups=3, bias=False)
        self.d = nn.Conv2d(240, 240, 3, padding=1, groups=240, bias=False)
        self.b = nn.Conv2d(240, 240, 1, groups=3, bias=False)

    def forward(self, x):
        x = self.a(x)
        n, c, h, w = x.size()
        x = x.view(n, 3, c // 3, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)
        left, right = self.b(self.d(x)).chunk(2, 1)
        return torch.cat((left, F.relu(right)), 1)


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.down, self.up, self.out = nn.Conv2d(3, 32, 3, padding="same"), nn.Linear(32, 8), nn.Linear(8, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = self.conv(x)
        y = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3)))))).view(x.size(0), 32, 1, 1)
        return self.out((x * y.expand_as(x)).mean([2, 3]))


class Encoder(nn.Module):
    def __init__(self, batch_first=True, norm_first=False):
        super().__init__()
        self.batch_first = batch_first
        self.embed, self.positions = nn.Embedding(1000, 64), nn.Parameter(torch.zeros(1, 32, 64))
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=batch_first, norm_first=norm_first), 2)
        self.fc = nn.Linear(64, 1000)

    def forward(self, x):
        x = self.embed(x) + self.positions
        return self.fc(self.layers(x if self.batch_first else x.transpose(0, 1)))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Transformer(32, 2, 1, 2, 64)

    def forward(self, source, target):
        return self.t(source, target)


class Vision(nn.Module):
    """Attention by matrix products, a class token and positions."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 64, 8, 8)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, 64)), nn.Parameter(torch.zeros(1, 17, 64))
        self.norm, self.qkv, self.out, self.head = nn.LayerNorm(64), nn.Linear(64, 192), nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        n, steps, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, steps, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * 0.25).softmax(-1)
        return self.head((x + self.out((weights @ v).transpose(1, 2).reshape(n, steps, width)))[:, 0])


class Temporal(nn.Module):
    """Causal convolutions with ever wider windows, weights normalised."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.utils.weight_norm(nn.Conv1d(32, 32, 3, padding=2 * d, dilation=d)) for d in (1, 2, 4, 8))

    def forward(self, x):
        for conv in self.convs:
            x = F.relu(conv(x)[:, :, : x.size(2)].contiguous()) + x
        return x


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.out = nn.Linear(64, 1)

    def forward(self, a, b):
        return torch.sigmoid(self.out(torch.cat([self.tower(a), self.tower(b)], 1)))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.up, self.last, self.out = nn.ConvTranspose2d(32, 16, 3, 2, 1, output_padding=1, groups=2), nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = self.up(F.relu(self.down2(F.max_pool2d(a, 2))))
        x = F.interpolate(F.relu(self.last(torch.cat([a, b], dim=1))), scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(x)


class Windows(nn.Module):
    """Zeros on one side, ceil_mode, a dilated window with groups, pooling to a size that does not divide."""

    def __init__(self):
        super().__init__()
        self.conv, self.pool = nn.Conv2d(3, 32, 7, 2, 3), nn.MaxPool2d(3, 2, ceil_mode=True)
        self.wide = nn.Conv2d(32, 32, 3, padding=(4, 2), dilation=(4, 2), groups=2, stride=(2, 1))
        self.adaptive, self.out = nn.AdaptiveAvgPool2d((3, 2)), nn.Linear(32 * 6, 4)

    def forward(self, x):
        return self.out(self.adaptive(self.wide(self.pool(self.conv(F.pad(x, (0, 1, 0, 1)))))).flatten(1))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(500, 32), nn.LSTM(32, 32, batch_first=True), nn.Linear(32, 500)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


class Seq2seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder, self.out = nn.LSTM(71, 64, batch_first=True), nn.LSTM(94, 64, batch_first=True), nn.Linear(64, 94)

    def forward(self, x, y):
        return self.out(self.decoder(y, self.encoder(x)[1])[0])


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(16, 32), nn.Linear(32, 3)

    def forward(self, x):
        h = c = torch.zeros(x.size(0), 32)
        for step in range(x.size(1)):
            h, c = self.cell(x[:, step], (h, c))
        return self.out(h)


class Norms(nn.Module):
    """Normalisations with and without trained numbers, and an activation that has some."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(4))
        self.norms = nn.ModuleList([nn.BatchNorm2d(8, affine=False), nn.GroupNorm(2, 8), nn.InstanceNorm2d(8), nn.LayerNorm([8, 12, 10])])
        self.act, self.gate = nn.PReLU(8), nn.Parameter(torch.ones(8, 1, 1))

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = self.act(norm(conv(x))) * self.gate
        return F.glu(x, dim=1)


class Cross(nn.Module):
    """Attention whose keys are of another sequence, with positions from a table."""

    def __init__(self):
        super().__init__()
        self.embed, self.positions = nn.Embedding(100, 32), nn.Embedding(64, 32)
        self.attention, self.out = nn.MultiheadAttention(32, 4, batch_first=True), nn.Linear(32, 7)

    def forward(self, tokens, memory):
        x = self.embed(tokens) + self.positions(torch.arange(tokens.shape[1]))
        x, _ = self.attention(x, memory, memory, need_weights=False)
        return self.out(torch.stack([x.mean(1), x.amax(1)], dim=1).flatten(1)[:, :32])


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.first, self.second = nn.Linear(20, 30), nn.Linear(30, 4), nn.Linear(30, 1)

    def forward(self, x, extra=None, scale=2.0):
        x = torch.tanh(self.body(x)) * scale
        return {"classes": self.first(x), "value": self.second(x).squeeze(-1)}


class Unsupported(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Conv3d(1, 2, 3), nn.ReLU())

    def forward(self, x):
        return torch.fft.fft(x).real + self.parts(x).sum((1, 2, 3, 4), keepdim=True)


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return self.fc(x) if isinstance(x, torch.Tensor) else x.missing


def image(channels=3, side=32):
    return torch.rand(2, channels, side, side)


def tokens(*sizes):
    return torch.zeros(*sizes, dtype=torch.long)


def cases():
    """Name: a module and its example input."""
    return {
        "residual": (Residual(), image(side=64)),
        "lstm, steps first": (StepsFirst(), torch.rand(35, 2, 128)),
        "lstm, batch first": (BatchFirst(), torch.rand(2, 35, 128)),
        "gru, both ways": (BothWays(), tokens(2, 20)),
        "lstm, last state": (LastState(), torch.rand(2, 35, 128)),
        "tokens, steps first": (TokensStepsFirst(), tokens(9, 2)),
        "shuffle": (Shuffle(), image(24, 28)),
        "squeeze and excite": (SqueezeExcite(), image()),
        "encoder": (Encoder(), tokens(2, 32)),
        "encoder, norm first": (Encoder(norm_first=True), tokens(2, 32)),
        "encoder, steps first": (Encoder(batch_first=False), tokens(2, 32)),
        "translator": (Translator(), (torch.rand(7, 2, 32), torch.rand(5, 2, 32))),
        "vision": (Vision(), image()),
        "temporal": (Temporal(), torch.rand(2, 32, 100)),
        "siamese": (Siamese(), (image(), image())),
        "u-net": (Unet(), image(1)),
        "windows": (Windows(), image(side=64)),
        "tied": (Tied(), tokens(2, 9)),
        "seq2seq": (Seq2seq(), (torch.rand(2, 20, 71), torch.rand(2, 15, 94))),
        "cell": (Cell(), torch.rand(2, 5, 16)),
        "norms": (Norms(), torch.rand(2, 8, 12, 10)),
        "cross attention": (Cross(), {"tokens": tokens(2, 11), "memory": torch.rand(2, 6, 32)}),
        "two heads": (TwoHeads(), torch.rand(2, 20)),
    }
