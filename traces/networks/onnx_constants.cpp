// Constants and shapes of an ONNX graph, computed: what exporters write to find the sizes of a Reshape or a Slice (Shape, Gather,
// Unsqueeze, Concat, arithmetic). Numbers are doubles: sizes are exact in them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "traces/networks/onnx_graph.hpp"

namespace rehearse::traces {
namespace {

using Numbers = std::vector<double>;
constexpr int kInt64 = 7, kBool = 9;
constexpr int kOnnxFloats[]{1, 10, 11, 16};

bool is_whole(int type) { return std::ranges::find(kOnnxFloats, type) == std::end(kOnnxFloats); }

/// The position in a tensor of `shape` of what lies at position `index` of one of shape `to`, sides of 1 repeated.
std::size_t repeated_index(std::size_t index, const OnnxShape& to, const OnnxShape& shape) {
  std::size_t position = 0, stride = 1;
  for (std::size_t k = 0; k < to.size(); ++k) {
    const auto side = static_cast<std::size_t>(to[to.size() - 1 - k]), at = index % side;
    index /= side;
    if (k >= shape.size()) continue;
    const auto own = static_cast<std::size_t>(shape[shape.size() - 1 - k]);
    if (own > 1) position += at * stride;
    stride *= own;
  }
  return position;
}

std::optional<OnnxShape> repeated_shape(const OnnxShape& a, const OnnxShape& b) {
  OnnxShape out(std::max(a.size(), b.size()), 1);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::int64_t left = k < a.size() ? a[a.size() - 1 - k] : 1, right = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    out[out.size() - 1 - k] = left == 1 ? right : left;
  }
  return out;
}

bool is_small(const OnnxShape& shape) {
  const std::int64_t count = onnx_elements(shape);
  return count >= 0 && count <= kOnnxMostNumbers;
}

/// A node all of whose inputs are known numbers.
class Folder {
 public:
  Folder(const OnnxNode& node, const std::map<std::string, OnnxValue>& values) : node_(node), values_(values) {
    for (const std::string& name : node.inputs) {
      const auto found = values.find(name);
      in_.push_back(name.empty() || found == values.end() ? nullptr : &found->second);
      known_ = known_ && (name.empty() || (in_.back() != nullptr && in_.back()->numbers && in_.back()->shape));
    }
  }

  std::optional<OnnxValue> value() const {
    const std::string& type = node_.type;
    if (!node_.domain.empty()) return std::nullopt;
    if (type == "Constant") return node_.tensor;
    if (type == "Shape" || type == "Size") return of_shape();
    if (!known_ || in_.empty() || in_[0] == nullptr) return std::nullopt;
    if (type == "ConstantOfShape") return filled();
    if (type == "Identity") return *in_[0];
    if (type == "Cast") return cast();
    if (type == "Gather") return gathered();
    if (type == "Concat") return joined();
    if (type == "Slice") return part();
    if (type == "Transpose") return transposed();
    if (type == "NonZero" && shape(0).size() == 1) return places();
    if (type == "Squeeze" || type == "Unsqueeze" || type == "Reshape" || type == "Flatten") return renamed();
    if (type == "Range") return range();
    if (type == "Where" && in_.size() == 3) return where();
    if (type == "Expand" && in_.size() == 2) return expanded();
    if (type.starts_with("Reduce")) return reduced();
    if (const auto one = unary()) return one;
    return in_.size() == 2 ? binary() : std::nullopt;
  }

 private:
  const Numbers& numbers(std::size_t i) const { return *in_[i]->numbers; }
  const OnnxShape& shape(std::size_t i) const { return *in_[i]->shape; }
  static OnnxValue made(OnnxShape shape, int type, Numbers numbers) {
    return {.shape = std::move(shape), .type = type, .constant = true, .numbers = std::move(numbers)};
  }
  static OnnxValue list(int type, Numbers numbers) {
    OnnxShape shape{static_cast<std::int64_t>(numbers.size())};
    return made(std::move(shape), type, std::move(numbers));
  }
  std::size_t axis(std::int64_t fallback, std::size_t rank) const {
    const std::int64_t axis = node_.number("axis", fallback);
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
  }

  std::optional<OnnxValue> of_shape() const {
    if (in_.empty() || in_[0] == nullptr || !in_[0]->shape) return std::nullopt;
    const OnnxShape& all = shape(0);
    const auto rank = static_cast<std::int64_t>(all.size());
    if (node_.type == "Size") return made({}, kInt64, {static_cast<double>(onnx_elements(all))});
    const auto place = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
    const std::int64_t from = place(node_.number("start", 0)), to = std::max(from, place(node_.number("end", rank)));
    return made({to - from}, kInt64, Numbers(all.begin() + from, all.begin() + to));
  }

  std::optional<OnnxValue> filled() const {
    OnnxShape sizes;
    for (const double x : numbers(0)) sizes.push_back(onnx_whole(x));
    OnnxValue value{.shape = sizes, .type = node_.tensor ? node_.tensor->type : 1, .constant = true};
    if (onnx_elements(sizes) < 0) return std::nullopt;
    const double fill =
        node_.tensor && node_.tensor->numbers && !node_.tensor->numbers->empty() ? node_.tensor->numbers->front() : 0;
    if (is_small(sizes)) value.numbers = Numbers(static_cast<std::size_t>(onnx_elements(sizes)), fill);
    return value;
  }

  std::optional<OnnxValue> cast() const {
    const int to = static_cast<int>(node_.number("to", 1));
    Numbers result = numbers(0);
    for (double& x : result) {
      if (to == kBool)
        x = x != 0;
      else if (is_whole(to))
        x = std::trunc(x);
    }
    return made(shape(0), to, std::move(result));
  }

  std::optional<OnnxValue> gathered() const {
    const OnnxShape& data = shape(0);
    const std::size_t along = axis(0, data.size());
    if (in_.size() < 2 || in_[1] == nullptr || along >= data.size()) return std::nullopt;
    std::size_t outer = 1, inner = 1;
    for (std::size_t k = 0; k < data.size(); ++k)
      (k < along ? outer : inner) *= k == along ? 1 : static_cast<std::size_t>(data[k]);
    OnnxShape out(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(along));
    out.insert(out.end(), shape(1).begin(), shape(1).end());
    out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(along) + 1, data.end());
    if (!is_small(out)) return std::nullopt;
    Numbers result;
    const double side = static_cast<double>(data[along]);
    for (std::size_t o = 0; o < outer; ++o)
      for (double at : numbers(1)) {
        if (at < 0) at += side;
        if (!(at >= 0 && at < side)) return std::nullopt;
        const auto from = numbers(0).begin() + static_cast<std::ptrdiff_t>(
                                                   (o * static_cast<std::size_t>(side) + static_cast<std::size_t>(at)) * inner);
        result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(inner));
      }
    return made(std::move(out), in_[0]->type, std::move(result));
  }

  /// Of lists: what shapes are put together from.
  std::optional<OnnxValue> joined() const {
    Numbers result;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i] == nullptr || shape(i).size() != 1) return std::nullopt;
      result.insert(result.end(), numbers(i).begin(), numbers(i).end());
    }
    return list(in_[0]->type, std::move(result));
  }

  std::optional<OnnxValue> part() const {
    const auto cuts = onnx_cuts(node_, shape(0), values_);
    if (!cuts) return std::nullopt;
    OnnxShape out;
    for (const OnnxCut& cut : *cuts) out.push_back(cut.size);
    if (!is_small(out)) return std::nullopt;
    return made(out, in_[0]->type,
                picked(out, [&](std::size_t axis, std::int64_t at) { return (*cuts)[axis].from + at * (*cuts)[axis].step; }));
  }

  /// Of the numbers of a list that are not 0.
  OnnxValue places() const {
    Numbers result;
    for (std::size_t i = 0; i < numbers(0).size(); ++i)
      if (numbers(0)[i] != 0) result.push_back(static_cast<double>(i));
    OnnxShape sizes{1, std::ssize(result)};
    return made(std::move(sizes), kInt64, std::move(result));
  }

  std::optional<OnnxValue> transposed() const {
    const OnnxShape& in = shape(0);
    std::vector<std::int64_t> order;
    if (node_.has("perm"))
      order = node_.numbers.at("perm");
    else
      for (std::size_t k = in.size(); k-- > 0;) order.push_back(static_cast<std::int64_t>(k));
    if (order.size() != in.size() || std::set(order.begin(), order.end()).size() != in.size()) return std::nullopt;
    OnnxShape out;
    for (const std::int64_t axis : order) {
      if (axis < 0 || axis >= std::ssize(in)) return std::nullopt;
      out.push_back(in[static_cast<std::size_t>(axis)]);
    }
    if (onnx_elements(out) != onnx_elements(in)) return std::nullopt;
    Numbers result;
    for (std::int64_t i = 0; i < onnx_elements(out); ++i) {
      std::int64_t rest = i, position = 0;
      for (std::size_t k = out.size(); k-- > 0; rest /= out[k])
        position += rest % out[k] * stride(in, static_cast<std::size_t>(order[k]));
      result.push_back(numbers(0)[static_cast<std::size_t>(position)]);
    }
    return made(std::move(out), in_[0]->type, std::move(result));
  }

  static std::int64_t stride(const OnnxShape& in, std::size_t axis) {
    std::int64_t numbers = 1;
    for (std::size_t k = axis + 1; k < in.size(); ++k) numbers *= in[k];
    return numbers;
  }

  /// Of the first input, at the place of each axis that `place` says for one of the output.
  Numbers picked(const OnnxShape& out, const auto& place) const {
    Numbers result;
    for (std::int64_t i = 0; i < onnx_elements(out); ++i) {
      std::int64_t rest = i, position = 0;
      for (std::size_t k = out.size(); k-- > 0; rest /= out[k]) position += place(k, rest % out[k]) * stride(shape(0), k);
      result.push_back(numbers(0)[static_cast<std::size_t>(position)]);
    }
    return result;
  }

  /// Squeeze, Unsqueeze, Reshape and Flatten keep the numbers; their shapes are few.
  std::optional<OnnxValue> renamed() const {
    OnnxShape out = shape(0);
    if (node_.type == "Unsqueeze") {
      const std::size_t more = in_.size() > 1 && in_[1] != nullptr ? numbers(1).size()
                               : node_.has("axes")                 ? node_.numbers.at("axes").size()
                                                                   : 0;
      auto axes = onnx_axes(node_, 1, out.size() + more, values_);
      if (!axes) return std::nullopt;
      std::ranges::sort(*axes);
      for (const std::int64_t at : *axes) {
        if (at < 0 || at > static_cast<std::int64_t>(out.size())) return std::nullopt;
        out.insert(out.begin() + at, 1);
      }
    } else if (node_.type == "Squeeze") {
      const auto axes = onnx_axes(node_, 1, out.size(), values_);
      OnnxShape kept;
      for (std::size_t k = 0; k < out.size(); ++k) {
        const bool dropped = axes ? std::ranges::find(*axes, static_cast<std::int64_t>(k)) != axes->end() : out[k] == 1;
        if (!dropped) kept.push_back(out[k]);
      }
      out = kept;
    } else if (node_.type == "Reshape" && in_.size() > 1 && in_[1] != nullptr) {
      out.clear();
      double known = 1;
      for (const double x : numbers(1)) {
        const std::size_t at = out.size();
        out.push_back(x == 0 && at < shape(0).size() ? shape(0)[at] : onnx_whole(x));
        if (x != -1) known *= std::max(1.0, static_cast<double>(out.back()));
      }
      for (std::int64_t& size : out)
        if (size == -1) size = onnx_whole(static_cast<double>(numbers(0).size()) / known);
    } else {
      return std::nullopt;
    }
    if (onnx_elements(out) != static_cast<std::int64_t>(numbers(0).size())) return std::nullopt;
    return made(std::move(out), in_[0]->type, numbers(0));
  }

  std::optional<OnnxValue> range() const {
    if (in_.size() != 3 || numbers(0).empty() || numbers(1).empty() || numbers(2).empty()) return std::nullopt;
    const double from = numbers(0)[0], to = numbers(1)[0], step = numbers(2)[0];
    const double count = step == 0 ? -1 : std::max(0.0, std::ceil((to - from) / step));
    if (!(count >= 0 && count <= kOnnxMostNumbers)) return std::nullopt;
    Numbers result;
    for (int i = 0; i < static_cast<int>(count); ++i) result.push_back(from + i * step);
    return made({static_cast<std::int64_t>(count)}, in_[0]->type, std::move(result));
  }

  std::optional<OnnxValue> where() const {
    const auto some = repeated_shape(shape(0), shape(1));
    const auto out = some ? repeated_shape(*some, shape(2)) : std::nullopt;
    if (!out || !is_small(*out)) return std::nullopt;
    Numbers result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(onnx_elements(*out)); ++i) {
      const bool yes = numbers(0)[repeated_index(i, *out, shape(0))] != 0;
      result.push_back(yes ? numbers(1)[repeated_index(i, *out, shape(1))] : numbers(2)[repeated_index(i, *out, shape(2))]);
    }
    return made(*out, in_[1]->type, std::move(result));
  }

  std::optional<OnnxValue> expanded() const {
    OnnxShape to;
    for (const double x : numbers(1)) to.push_back(onnx_whole(x));
    const auto out = repeated_shape(shape(0), to);
    if (!out || !is_small(*out)) return std::nullopt;
    Numbers result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(onnx_elements(*out)); ++i)
      result.push_back(numbers(0)[repeated_index(i, *out, shape(0))]);
    return made(*out, in_[0]->type, std::move(result));
  }

  /// Over all numbers of a list.
  std::optional<OnnxValue> reduced() const {
    if (shape(0).size() != 1 || numbers(0).empty()) return std::nullopt;
    const Numbers& all = numbers(0);
    double result = 0;
    if (node_.type == "ReduceProd")
      result = std::accumulate(all.begin(), all.end(), 1.0, std::multiplies{});
    else if (node_.type == "ReduceSum")
      result = std::accumulate(all.begin(), all.end(), 0.0);
    else if (node_.type == "ReduceMax")
      result = *std::ranges::max_element(all);
    else if (node_.type == "ReduceMin")
      result = *std::ranges::min_element(all);
    else
      return std::nullopt;
    return made(node_.number("keepdims", 1) != 0 ? OnnxShape{1} : OnnxShape{}, in_[0]->type, {result});
  }

  std::optional<OnnxValue> unary() const {
    static const std::map<std::string, double (*)(double)> kUnary{{"Neg", [](double x) { return -x; }},
                                                                  {"Abs", [](double x) { return std::abs(x); }},
                                                                  {"Floor", [](double x) { return std::floor(x); }},
                                                                  {"Ceil", [](double x) { return std::ceil(x); }},
                                                                  {"Round", [](double x) { return std::nearbyint(x); }},
                                                                  {"Sqrt", [](double x) { return std::sqrt(x); }},
                                                                  {"Not", [](double x) { return double(x == 0); }}};
    const auto found = kUnary.find(node_.type);
    if (found == kUnary.end()) return std::nullopt;
    Numbers result = numbers(0);
    std::ranges::transform(result, result.begin(), found->second);
    return made(shape(0), in_[0]->type, std::move(result));
  }

  std::optional<OnnxValue> binary() const {
    using Function = double (*)(double, double);
    static const std::map<std::string, Function> kBinary{{"Add", [](double a, double b) { return a + b; }},
                                                         {"Sub", [](double a, double b) { return a - b; }},
                                                         {"Mul", [](double a, double b) { return a * b; }},
                                                         {"Div", [](double a, double b) { return a / b; }},
                                                         {"Pow", [](double a, double b) { return std::pow(a, b); }},
                                                         {"Mod", [](double a, double b) { return a - b * std::floor(a / b); }},
                                                         {"Min", [](double a, double b) { return std::min(a, b); }},
                                                         {"Max", [](double a, double b) { return std::max(a, b); }},
                                                         {"Equal", [](double a, double b) { return double(a == b); }},
                                                         {"Less", [](double a, double b) { return double(a < b); }},
                                                         {"Greater", [](double a, double b) { return double(a > b); }},
                                                         {"LessOrEqual", [](double a, double b) { return double(a <= b); }},
                                                         {"GreaterOrEqual", [](double a, double b) { return double(a >= b); }},
                                                         {"And", [](double a, double b) { return double(a != 0 && b != 0); }},
                                                         {"Or", [](double a, double b) { return double(a != 0 || b != 0); }}};
    const auto found = kBinary.find(node_.type);
    const auto out = found == kBinary.end() || in_[1] == nullptr ? std::nullopt : repeated_shape(shape(0), shape(1));
    if (!out || !is_small(*out)) return std::nullopt;
    const bool divides = node_.type == "Div" || node_.type == "Mod", whole = is_whole(in_[0]->type);
    Numbers result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(onnx_elements(*out)); ++i) {
      const double b = numbers(1)[repeated_index(i, *out, shape(1))];
      if (divides && b == 0) return std::nullopt;
      const double x = found->second(numbers(0)[repeated_index(i, *out, shape(0))], b);
      result.push_back(divides && whole ? std::trunc(x) : x);
    }
    const bool compares = node_.type == "Equal" || node_.type.starts_with("Less") || node_.type.starts_with("Greater");
    return made(*out, compares ? kBool : in_[0]->type, std::move(result));
  }

  const OnnxNode& node_;
  const std::map<std::string, OnnxValue>& values_;
  std::vector<const OnnxValue*> in_;
  bool known_ = true;
};

}  // namespace

std::optional<OnnxValue> onnx_constant(const OnnxNode& node, const std::map<std::string, OnnxValue>& values) {
  return Folder(node, values).value();
}

}  // namespace rehearse::traces
