#include "sim/step/step_timer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/flow_network.hpp"
#include "sim/step/step_scheduler.hpp"

namespace rehearse::sim {

namespace {

class FastTimer final : public StepTimer {
 public:
  FastTimer(const StepGraph& graph, const Machine& machine, const HostModel* host)
      : scheduler_(graph, machine, host), network_(ways_of(machine)) {}
  const StepResult& time(const StepPlacement& placement, StepTimeline* timeline) override {
    return scheduler_.time(placement, network_, timeline);
  }

 private:
  StepScheduler scheduler_;
  FluidNetwork network_;
};

/// Plain values, one after the other, between a process and the child that it forked.
class Parcel {
 public:
  Parcel() = default;
  explicit Parcel(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  template <class T>
  void take(T& value) {
    take_bytes(&value, sizeof value);
  }
  template <class T>
  void take(std::vector<T>& values) {
    std::size_t size = 0;
    take(size);
    values.resize(size);
    take_bytes(values.data(), size * sizeof(T));
  }
  std::string bytes() && { return std::move(bytes_); }

 private:
  void take_bytes(void* to, std::size_t size) {
    check(size <= bytes_.size() - taken_, "a child's answer is whole");
    if (size > 0) std::memcpy(to, bytes_.data() + taken_, size);
    taken_ += size;
  }
  std::string bytes_;
  std::size_t taken_ = 0;
};

class ReferenceTimer final : public StepTimer {
 public:
  ReferenceTimer(const StepGraph& graph, const Machine& machine, const HostModel* host)
      : scheduler_(graph, machine, host), ways_(ways_of(machine)) {}
  const StepResult& time(const StepPlacement& placement, StepTimeline* timeline) override {
    Parcel parcel(in_child([&] {
      SimGridNetwork network(ways_);
      StepTimeline seen;
      const StepResult& timing = scheduler_.time(placement, network, timeline != nullptr ? &seen : nullptr);
      Parcel answer;
      answer.put(timing.makespan);
      answer.put(timing.busy);
      answer.put(timing.peak_memory_bytes);
      answer.put(timing.out_of_memory);
      answer.put(timing.transfers);
      answer.put(timing.transferred_bytes);
      answer.put(seen.runs);
      answer.put(seen.transfers);
      return std::move(answer).bytes();
    }));
    parcel.take(timing_.makespan);
    parcel.take(timing_.busy);
    parcel.take(timing_.peak_memory_bytes);
    parcel.take(timing_.out_of_memory);
    parcel.take(timing_.transfers);
    parcel.take(timing_.transferred_bytes);
    if (timeline != nullptr) {
      parcel.take(timeline->runs);
      parcel.take(timeline->transfers);
    }
    return timing_;
  }

 private:
  StepScheduler scheduler_;
  Ways ways_;
  StepResult timing_;
};

/// Weak duality: with prices y_d >= 0 of the devices that sum to 1, no step is shorter than the sum over operations of the
/// least y_d x duration on d.
double priced_work(const StepGraph& graph, const std::vector<std::int32_t>& class_of_device, const std::vector<double>& prices) {
  double work = 0;
  for (int op = 0; op < graph.ops(); ++op) {
    double least = prices[0] * static_cast<double>(graph.duration(op, class_of_device[0]));
    for (std::size_t d = 1; d < prices.size(); ++d)
      least = std::min(least, prices[d] * static_cast<double>(graph.duration(op, class_of_device[d])));
    work += least;
  }
  return work;
}

}  // namespace

std::unique_ptr<StepTimer> make_fast_timer(const StepGraph& graph, const Machine& machine) {
  return std::make_unique<FastTimer>(graph, machine, nullptr);
}

std::unique_ptr<StepTimer> make_fast_timer(const StepGraph& graph, const Machine& machine, const HostModel& host) {
  return std::make_unique<FastTimer>(graph, machine, &host);
}

std::unique_ptr<StepTimer> make_reference_timer(const StepGraph& graph, const Machine& machine) {
  return std::make_unique<ReferenceTimer>(graph, machine, nullptr);
}

std::unique_ptr<StepTimer> make_reference_timer(const StepGraph& graph, const Machine& machine, const HostModel& host) {
  return std::make_unique<ReferenceTimer>(graph, machine, &host);
}

std::vector<std::int32_t> graph_classes(const StepGraph& graph, const Machine& machine) {
  std::vector<std::int32_t> result;
  for (int d = 0; d < machine.devices(); ++d) {
    const std::string& name = machine.class_names()[machine.device(d).device_class];
    const auto found = std::find(graph.class_names().begin(), graph.class_names().end(), name);
    check(found != graph.class_names().end(), "the graph has no durations on devices of class " + name);
    result.push_back(static_cast<std::int32_t>(found - graph.class_names().begin()));
  }
  return result;
}

void critical_path(const StepGraph& graph, const Machine& machine, std::span<const std::int32_t> classes,
                   std::span<const std::int32_t> device_of_op, std::vector<std::int64_t>& out) {
  out.assign(graph.ops(), 0);
  const std::span<const std::int32_t> order = graph.topological_order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int32_t op = order[i];
    const int device = device_of_op[op];
    std::int64_t longest = 0;
    for (int t = graph.first_tensor(op); t < graph.first_tensor(op + 1); ++t)
      for (const std::int32_t reader : graph.readers_of(t)) {
        std::int64_t way = out[reader];
        if (const int to = device_of_op[reader]; to != device) {
          const Route route = machine.route(device, to);
          way += route.latency + ticks_up(static_cast<double>(graph.tensor(t).bytes) / route.bandwidth_bytes_per_s);
        }
        longest = std::max(longest, way);
      }
    out[op] = longest + graph.duration(op, classes[device]);
  }
}

Tick lower_bound(const StepGraph& graph, const Machine& machine, bool host_issues) {
  const std::vector<std::int32_t> class_of_device = graph_classes(graph, machine);
  std::vector<Tick> longest(graph.ops());
  Tick path = 0;
  const std::span<const std::int32_t> order = graph.topological_order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int32_t op = order[i];
    Tick fastest = kNeverTick, after = 0;
    for (const int c : class_of_device) fastest = std::min(fastest, graph.duration(op, c));
    for (int t = graph.first_tensor(op); t < graph.first_tensor(op + 1); ++t) {
      if (host_issues && graph.tensor(t).bytes == 0) continue;
      for (const std::int32_t reader : graph.readers_of(t)) after = std::max(after, longest[reader]);
    }
    path = std::max(path, longest[op] = fastest + after);
  }
  // Two choices of prices: all equal, and each device's speed on the whole graph.
  const std::size_t devices = class_of_device.size();
  std::vector<double> equal(devices, 1.0 / static_cast<double>(devices)), speeds(devices);
  double all_speeds = 0;
  for (std::size_t d = 0; d < devices; ++d) {
    double work = 1;
    for (int op = 0; op < graph.ops(); ++op) work += static_cast<double>(graph.duration(op, class_of_device[d]));
    all_speeds += speeds[d] = 1 / work;
  }
  for (double& speed : speeds) speed /= all_speeds;
  const double work = std::max(priced_work(graph, class_of_device, equal), priced_work(graph, class_of_device, speeds));
  return std::max(path, static_cast<Tick>(work * (1 - 1e-12)));
}

}  // namespace rehearse::sim
