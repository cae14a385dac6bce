#include "workloads/layers/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "sim/base/errors.hpp"

namespace rehearse::workloads {
namespace {

/// Thrown inside shape inference only: what a layer expected and what it found.
struct BadLayer {
  std::string expected, found;
};

void require(bool ok, std::string_view expected, std::string found) {
  if (!ok) throw BadLayer{std::string(expected), std::move(found)};
}

constexpr int kLongestSide = 1 << 15;       // of a window
constexpr std::int64_t kLargest = 1 << 30;  // numbers in one sample's output: products of sides stay within an int

std::string text(const Shape& s) { return fmt::format("{} x {} x {}", s.channels, s.height, s.width); }

void require_window(const Window& w) {
  require(w.height > 0 && w.width > 0 && w.stride_height > 0 && w.stride_width > 0 && w.pad_height >= 0 && w.pad_width >= 0,
          "a window with positive size and stride, and padding of at least 0",
          fmt::format("{} x {}, stride {} x {}, padding {} x {}", w.height, w.width, w.stride_height, w.stride_width,
                      w.pad_height, w.pad_width));
  require(std::max({w.height, w.width, w.stride_height, w.stride_width}) <= kLongestSide, "a window of at most 32768 a side",
          fmt::format("{} x {}, stride {} x {}", w.height, w.width, w.stride_height, w.stride_width));
  require(std::min(w.dilation_height, w.dilation_width) >= 1 && std::max(w.dilation_height, w.dilation_width) <= kLongestSide,
          "a dilation from 1 to 32768", fmt::format("{} x {}", w.dilation_height, w.dilation_width));
  require(w.pad_height < w.reach_height() && w.pad_width < w.reach_width(), "padding smaller than the window",
          fmt::format("{} x {}", w.pad_height, w.pad_width));
  require(std::max(std::abs(w.end_height), std::abs(w.end_width)) <= kLongestSide, "at most 32768 zeros more at the end",
          fmt::format("{} x {}", w.end_height, w.end_width));
}

void require_positive(int value, std::string_view what) {
  require(value > 0, fmt::format("{} of at least 1", what), std::to_string(value));
}

Shape slide(const Shape& in, int channels, const Window& w) {
  require_window(w);
  require(w.pad_height + w.end_height >= 0 && w.pad_width + w.end_width >= 0, "padding of at least 0 at the end",
          fmt::format("{} x {}", w.pad_height + w.end_height, w.pad_width + w.end_width));
  const auto places = [&](std::int64_t side, int pad, int end, int reach, int stride) {
    const std::int64_t room = side + 2 * std::int64_t{pad} + end - reach;
    require(room >= 0, "an input at least as large as the window", text(in));
    return static_cast<int>(room / stride + 1);
  };
  return {channels, places(in.height, w.pad_height, w.end_height, w.reach_height(), w.stride_height),
          places(in.width, w.pad_width, w.end_width, w.reach_width(), w.stride_width)};
}

/// Inverts `slide`.
Shape unslide(const Shape& in, int channels, const Window& w) {
  require_window(w);
  const auto side = [](std::int64_t places, int pad, int end, int reach, int stride) {
    return (places - 1) * stride - 2 * std::int64_t{pad} - end + reach;
  };
  const std::int64_t height = side(in.height, w.pad_height, w.end_height, w.reach_height(), w.stride_height);
  const std::int64_t width = side(in.width, w.pad_width, w.end_width, w.reach_width(), w.stride_width);
  require(height > 0 && width > 0 && height < kLargest && width < kLargest, "an output of at least 1 x 1 that is not huge",
          fmt::format("{} x {}", height, width));
  return {channels, static_cast<int>(height), static_cast<int>(width)};
}

void require_sequence(const Shape& in) { require(in.width == 1, "a vector or a sequence (flatten an image first)", text(in)); }

Shape concatenated(Axis axis, std::span<const Shape> in) {
  int Shape::*const along = axis == Axis::channels ? &Shape::channels : axis == Axis::height ? &Shape::height : &Shape::width;
  std::int64_t sum = 0;
  for (Shape s : in) {
    sum += s.*along;
    s.*along = in[0].*along;
    require(s == in[0], axis == Axis::channels ? "inputs of equal height and width" : "inputs of equal sides but for the axis",
            text(in[0]) + " and " + text(s));
  }
  require(sum < kLargest, "fewer than 2^30 numbers along the axis", std::to_string(sum));
  Shape out = in[0];
  out.*along = static_cast<int>(sum);
  return out;
}

/// Of inputs number by number, sides of 1 repeated.
Shape broadcast(std::span<const Shape> in) {
  Shape out = in[0];
  for (const Shape& s : in)
    out = {std::max(out.channels, s.channels), std::max(out.height, s.height), std::max(out.width, s.width)};
  const auto fits = [](int side, int of_output) { return side == of_output || side == 1; };
  for (const Shape& s : in)
    require(fits(s.channels, out.channels) && fits(s.height, out.height) && fits(s.width, out.width),
            "inputs of equal shape, or sides of 1", text(in[0]) + " and " + text(&s == in.data() ? in.back() : s));
  return out;
}

Shape multiplied(std::span<const Shape> in) {
  require(in.size() == 2, "two inputs", std::to_string(in.size()));
  require(in[0].channels == in[1].channels && in[0].width == in[1].height, "(c, n, k) and (c, k, m)",
          text(in[0]) + " and " + text(in[1]));
  return {in[0].channels, in[0].height, in[1].width};
}

Shape stated(const Shape& shape, std::string_view what, bool fits, const Shape& in) {
  require(shape.channels > 0 && shape.height > 0 && shape.width > 0, "a shape with sides of at least 1", text(shape));
  require(fits, what, fmt::format("{} from {}", text(shape), text(in)));
  return shape;
}

Shape attended(const Attention& a, std::span<const Shape> in) {
  require_positive(a.heads, "a number of heads");
  require(in.size() == 3, "queries, keys and values", fmt::format("{} inputs", in.size()));
  for (const Shape& s : in) require_sequence(s);
  require(in[0].channels == in[1].channels, "queries and keys of equal width", text(in[0]) + " and " + text(in[1]));
  require(in[1].height == in[2].height, "as many values as keys", text(in[1]) + " and " + text(in[2]));
  require(in[0].channels % a.heads == 0 && in[2].channels % a.heads == 0, "a width divisible by the number of heads",
          fmt::format("{} heads on {}", a.heads, text(in[0])));
  return {in[2].channels, in[0].height, 1};
}

bool takes_many(const LayerSpec& spec) {
  return std::holds_alternative<Concat>(spec) || std::holds_alternative<Add>(spec) || std::holds_alternative<Multiply>(spec) ||
         std::holds_alternative<MatrixProduct>(spec) || std::holds_alternative<Attention>(spec) ||
         std::holds_alternative<Recurrent>(spec);
}

Shape output_shape(const LayerSpec& spec, std::span<const Shape> in) {
  if (std::holds_alternative<Input>(spec)) {
    const Shape shape = std::get<Input>(spec).shape;
    require(in.empty(), "no inputs", fmt::format("{}", in.size()));
    require(shape.channels > 0 && shape.height > 0 && shape.width > 0, "a shape with sides of at least 1", text(shape));
    return shape;
  }
  require(!in.empty() && (in.size() == 1 || takes_many(spec)), takes_many(spec) ? "at least one input" : "one input",
          fmt::format("{}", in.size()));
  const Shape& first = in[0];
  return std::visit(
      Overloaded{
          [&](const Conv& c) {
            require_positive(c.filters, "a number of filters");
            require(c.groups > 0 && first.channels % c.groups == 0 && c.filters % c.groups == 0,
                    "groups that divide channels and filters",
                    fmt::format("{} groups, {} channels, {} filters", c.groups, first.channels, c.filters));
            return slide(first, c.filters, c.window);
          },
          [&](const TransposedConv& c) {
            require_positive(c.filters, "a number of filters");
            require(c.groups > 0 && first.channels % c.groups == 0 && c.filters % c.groups == 0,
                    "groups that divide channels and filters",
                    fmt::format("{} groups, {} channels, {} filters", c.groups, first.channels, c.filters));
            return unslide(first, c.filters, c.window);
          },
          [&](const Dense& d) {
            require_positive(d.units, "a number of units");
            require_sequence(first);
            return Shape{d.units, first.height, 1};
          },
          [&](const Pool& p) { return slide(first, first.channels, p.window); },
          [&](const GlobalPool&) {
            return Shape{first.channels, 1, 1};
          },
          [&](const Upsample& u) {
            require_positive(u.factor, "a factor");
            require(u.factor < kLargest / std::max(first.height, first.width), "fewer than 2^30 positions a side",
                    std::to_string(u.factor));
            return Shape{first.channels, first.height * u.factor, first.width * u.factor};
          },
          [&](const LocalResponseNorm& n) {
            require_positive(n.size, "a size");
            return first;
          },
          [&](const Resize& r) { return stated(r.shape, "", true, first); },
          [&](const Slice& s) { return stated(s.shape, "a part of the input", s.shape.elements() <= first.elements(), first); },
          [&](const Reduce& r) {
            return stated(r.shape, "at most as many numbers as the input has", r.shape.elements() <= first.elements(), first);
          },
          [&](const Rearrange& r) {
            return stated(r.shape, "as many numbers as the input has", r.shape.elements() == first.elements(), first);
          },
          [&](const Concat& c) { return concatenated(c.axis, in); },
          [&](const Add&) { return broadcast(in); },
          [&](const Multiply&) {
            require(in.size() == 2, "two inputs", std::to_string(in.size()));
            return broadcast(in);
          },
          [&](const MatrixProduct&) { return multiplied(in); },
          [&](const Flatten&) {
            return Shape{first.channels * first.height * first.width, 1, 1};
          },
          [&](const ToSequence&) {
            return Shape{first.channels * first.height, first.width, 1};
          },
          [&](const LastStep&) {
            require_sequence(first);
            return Shape{first.channels, 1, 1};
          },
          [&](const Embedding& e) {
            require_positive(e.vocabulary, "a vocabulary");
            require_positive(e.width, "a width");
            require(first.channels == 1 && first.width == 1, "a sequence of tokens, 1 x n x 1", text(first));
            return Shape{e.width, first.height, 1};
          },
          [&](const Recurrent& r) {
            require_positive(r.hidden, "a number of hidden units");
            require_sequence(first);
            require(r.hidden < kLargest, "fewer than 2^30 hidden units", std::to_string(r.hidden));
            require(in.size() <= 5, "a sequence and at most four states", fmt::format("{} inputs", in.size()));
            for (const Shape& state : in.subspan(1))
              require(state.positions() == 1 && (state.channels == r.hidden || state.channels == 2 * r.hidden),
                      "states of as many numbers as there are hidden units, or twice as many", text(state));
            require(r.projection >= 0 && r.projection < kLargest, "a projection of 0 to 2^30 numbers",
                    std::to_string(r.projection));
            require(r.projection == 0 || r.cell == Cell::lstm, "a projection of an LSTM", "one of another cell");
            require(r.projection == 0 || in.size() == 1, "a sequence alone where the states are projected",
                    fmt::format("{} inputs", in.size()));
            return Shape{r.bidirectional && !r.sum_directions ? 2 * r.outputs() : r.outputs(), first.height, 1};
          },
          [&](const Attention& a) { return attended(a, in); },
          [&](const Loss&) {
            return Shape{1, first.height, first.width};
          },
          [&](const auto&) { return first; },
      },
      spec);
}

}  // namespace

int Network::add(std::string layer, LayerSpec spec, std::vector<int> inputs) {
  layers.push_back({std::move(layer), std::move(spec), std::move(inputs)});
  return last();
}

int Network::add(std::string layer, LayerSpec spec) {
  std::vector<int> inputs;
  if (!std::holds_alternative<Input>(spec)) inputs.push_back(last());
  return add(std::move(layer), std::move(spec), std::move(inputs));
}

std::vector<Shape> infer_shapes(const Network& network) {
  sim::Mistakes mistakes;
  std::vector<std::optional<Shape>> shapes;
  for (const Layer& layer : network.layers) {
    std::vector<Shape> in;
    bool judged = true;
    const int index = static_cast<int>(shapes.size());
    std::optional<Shape>& out = shapes.emplace_back();
    try {
      for (int i : layer.inputs) {
        require(i >= 0 && i < index, "inputs from earlier layers", fmt::format("layer {} of {}", i, index));
        judged = judged && shapes[i].has_value();
        if (judged) in.push_back(*shapes[i]);
      }
      require(layer.shares < index, "parameters of an earlier layer", fmt::format("layer {} of {}", layer.shares, index));
      if (!judged) continue;
      const Shape shape = output_shape(layer.spec, in);
      require(shape.elements() < double(kLargest), "an output of fewer than 2^30 numbers a sample", text(shape));
      out = shape;
    } catch (const BadLayer& bad) {
      mistakes.add({.pointer = network.name + "/" + layer.name, .expected = bad.expected, .found = bad.found});
    }
  }
  mistakes.throw_if_any();
  std::vector<Shape> result;
  for (const auto& shape : shapes) result.push_back(*shape);
  return result;
}

}  // namespace rehearse::workloads
