// The decision `queue`, made by a process that is told what has changed since it was last asked.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/process/policy_process.hpp"

namespace rehearse::scenarios {

class ProcessQueue final : public sim::Queue {
 public:
  ProcessQueue(const ProcessSettings& settings, const policies::OutsideInputs& inputs)
      : process_(settings, "queue", inputs), most_idle_(settings.most_idle_requests) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  /// What the process has been told of a slot's job.
  struct Told {
    bool job = false;
    const sim::Choice* menu = nullptr;  ///< where it lies: a new menu lies elsewhere
    std::uint64_t in_request = 0;
  };
  void write_news(const sim::QueueView& view, JsonLine& out);
  void write_job_news(const sim::QueueJob& queued, Told& told, const sim::Cluster& cluster, JsonLine& out);
  void read_answer(const sim::QueueView& view, sim::ObjectReader& in, sim::QueueAnswer& answer, sim::Mistakes& mistakes);
  sim::JobSlot read_job(sim::JsonValue name, sim::Mistakes& mistakes) const;
  sim::Start read_start(sim::JsonValue value, const sim::QueueView& view, sim::Mistakes& mistakes) const;
  /// A queue that starts and preempts for ever, or sleeps and wakes for ever, would never come to an end.
  void check_goes_on(const sim::QueueView& view);

  PolicyProcess process_;
  std::vector<Told> told_;                                 // by slot
  std::unordered_map<std::string, sim::JobSlot> slot_of_;  // of jobs that the process knows
  std::uint64_t requests_ = 0;
  double last_s_ = -1;
  const int most_idle_;
  int at_this_date_ = 0, idle_ = 0;
};

}  // namespace rehearse::scenarios
