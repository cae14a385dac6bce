#include "sim/step/step_graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include "sim/base/units.hpp"

namespace rehearse::sim {
namespace {

constexpr double kLargestSum = 0x1p62;  // of the sums of a whole step, in ticks or bytes
constexpr int kListedInCycle = 5;

/// Positions of the first entry of each of `bins`, and the end: counts become sums.
std::vector<std::int32_t> firsts(std::vector<std::int32_t> counts) {
  counts.insert(counts.begin(), 0);
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  return counts;
}

}  // namespace

StepGraphBuilder::StepGraphBuilder(std::string name, std::vector<std::string> classes) {
  graph_.name_ = std::move(name);
  graph_.classes_ = std::move(classes);
}

int StepGraphBuilder::add_op(StepOp op, std::span<const double> durations_s) {
  check(durations_s.size() == graph_.classes_.size(), "an operation has a duration on each class of device");
  for (std::size_t c = 0; c < durations_s.size(); ++c) {
    const double d = durations_s[c];
    if (d >= 0 && d * 0x1p30 < kLargestSum) {
      graph_.durations_.push_back(ticks_up(d));
      continue;
    }
    graph_.durations_.push_back(0);
    mistakes_.add({.pointer = "operation " + op.name + ", duration on " + graph_.classes_[c],
                   .expected = "0 s or more, finite",
                   .found = std::to_string(d)});
  }
  graph_.ops_.push_back(std::move(op));
  return graph_.ops() - 1;
}

int StepGraphBuilder::add_tensor(const StepTensor& tensor) {
  graph_.tensors_.push_back(tensor);
  return graph_.tensors() - 1;
}

void StepGraphBuilder::add_reader(int tensor, int op) { given_readers_.push_back({tensor, op}); }

void StepGraphBuilder::check_ops() {
  if (graph_.classes_.empty()) mistakes_.add({.pointer = graph_.name_, .expected = "a class of devices", .found = "none"});
  if (graph_.ops_.empty()) mistakes_.add({.pointer = graph_.name_, .expected = "operations", .found = "none"});
  double bytes = 0, ticks = 0;
  for (const StepOp& op : graph_.ops_)
    for (const std::int64_t size : {op.parameter_bytes, op.gradient_bytes, op.optimizer_bytes, op.workspace_bytes}) {
      if (size < 0)
        mistakes_.add({.pointer = "operation " + op.name, .expected = "0 bytes or more", .found = std::to_string(size)});
      bytes += static_cast<double>(size);
    }
  for (const StepTensor& tensor : graph_.tensors_) bytes += static_cast<double>(tensor.bytes);
  for (const Tick duration : graph_.durations_) ticks += static_cast<double>(duration);
  if (bytes >= kLargestSum || ticks >= kLargestSum)
    mistakes_.add({.pointer = graph_.name_, .expected = "less than 2^62 bytes and ticks of 2^-30 s altogether", .found = "more"});
}

void StepGraphBuilder::check_edges() {
  const auto is_op = [&](int op) { return op >= 0 && op < graph_.ops(); };
  for (const StepTensor& tensor : graph_.tensors_) {
    if (!is_op(tensor.producer))
      mistakes_.add({.pointer = graph_.name_ + ", a tensor's producer",
                     .expected = "an operation's index",
                     .found = std::to_string(tensor.producer)});
    else if (tensor.bytes < 0)
      mistakes_.add({.pointer = "operation " + graph_.ops_[tensor.producer].name + ", output",
                     .expected = "0 bytes or more",
                     .found = std::to_string(tensor.bytes)});
  }
  for (const Reader& reader : given_readers_) {
    if (reader.tensor < 0 || reader.tensor >= graph_.tensors())
      mistakes_.add({.pointer = is_op(reader.op) ? "operation " + graph_.ops_[reader.op].name + ", input" : graph_.name_,
                     .expected = "a tensor's index",
                     .found = std::to_string(reader.tensor)});
    else if (!is_op(reader.op)) {
      const int producer = graph_.tensors_[reader.tensor].producer;
      mistakes_.add({.pointer = (is_op(producer) ? "operation " + graph_.ops_[producer].name : graph_.name_) + ", reader",
                     .expected = "an operation's index",
                     .found = std::to_string(reader.op)});
    }
  }
}

/// Sorts tensors by producer and their readers by tensor and operation.
void StepGraphBuilder::number_tensors() {
  std::vector<std::int32_t> by_producer(graph_.tensors_.size()), number(graph_.tensors_.size());
  std::iota(by_producer.begin(), by_producer.end(), 0);
  std::stable_sort(by_producer.begin(), by_producer.end(),
                   [&](int a, int b) { return graph_.tensors_[a].producer < graph_.tensors_[b].producer; });
  std::vector<StepTensor> tensors;
  std::vector<std::int32_t> of_op(graph_.ops_.size()), of_tensor(graph_.tensors_.size());
  for (std::size_t i = 0; i < by_producer.size(); ++i) {
    number[by_producer[i]] = static_cast<std::int32_t>(i);
    tensors.push_back(graph_.tensors_[by_producer[i]]);
    ++of_op[tensors.back().producer];
  }
  graph_.tensors_ = std::move(tensors);
  for (Reader& reader : given_readers_) reader.tensor = number[reader.tensor];
  const auto key = [](const Reader& r) { return std::pair(r.tensor, r.op); };
  std::sort(given_readers_.begin(), given_readers_.end(), [&](const Reader& a, const Reader& b) { return key(a) < key(b); });
  const auto last = std::unique(given_readers_.begin(), given_readers_.end(),
                                [&](const Reader& a, const Reader& b) { return key(a) == key(b); });
  given_readers_.erase(last, given_readers_.end());
  for (const Reader& reader : given_readers_) {
    ++of_tensor[reader.tensor];
    graph_.readers_.push_back(reader.op);
  }
  graph_.first_tensor_ = firsts(std::move(of_op));
  graph_.first_reader_ = firsts(std::move(of_tensor));
}

void StepGraphBuilder::list_inputs() {
  std::vector<std::int32_t> count(graph_.ops_.size());
  for (const std::int32_t op : graph_.readers_) ++count[op];
  graph_.first_input_ = firsts(std::move(count));
  graph_.inputs_.resize(graph_.readers_.size());
  std::vector<std::int32_t> next(graph_.first_input_.begin(), graph_.first_input_.end() - 1);
  for (std::size_t i = 0; i < given_readers_.size(); ++i)
    graph_.inputs_[next[given_readers_[i].op]++] = {given_readers_[i].tensor, static_cast<std::int32_t>(i)};
}

/// Kahn's algorithm.
void StepGraphBuilder::sort() {
  std::vector<std::size_t> missing;
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> next;
  for (int op = 0; op < graph_.ops(); ++op) {
    missing.push_back(graph_.inputs_of(op).size());
    if (missing.back() == 0) next.push(op);
  }
  while (!next.empty()) {
    const std::int32_t op = next.top();
    next.pop();
    graph_.order_.push_back(op);
    for (int tensor = graph_.first_tensor_[op]; tensor < graph_.first_tensor_[op + 1]; ++tensor)
      for (const std::int32_t reader : graph_.readers_of(tensor))
        if (--missing[reader] == 0) next.push(reader);
  }
  if (graph_.order_.size() == graph_.ops_.size()) return;
  // Going back from an operation that never came, along inputs that never came, ends in the cycle.
  int op = static_cast<int>(std::find_if(missing.begin(), missing.end(), [](std::size_t m) { return m > 0; }) - missing.begin());
  const auto before = [&](int o) {
    for (const StepInput& input : graph_.inputs_of(o))
      if (const int producer = graph_.tensors_[input.tensor].producer; missing[producer] > 0) return producer;
    fail_check("an operation of a cycle waits for another one of it");
  };
  for (int i = 0; i < graph_.ops(); ++i) op = before(op);
  std::string cycle = graph_.ops_[op].name;
  int listed = 1;
  for (int o = before(op); o != op && listed < kListedInCycle; o = before(o), ++listed)
    cycle = graph_.ops_[o].name + " -> " + cycle;
  mistakes_.add({.pointer = "operation " + graph_.ops_[op].name, .expected = "no cycle", .found = "... -> " + cycle + " -> ..."});
}

StepGraph StepGraphBuilder::build() {
  check_ops();
  check_edges();
  mistakes_.throw_if_any();
  number_tensors();
  list_inputs();
  sort();
  mistakes_.throw_if_any();
  return std::move(graph_);
}

}  // namespace rehearse::sim
