// First come, first served: one queue over all pools in which nobody overtakes. The head starts at the first entry of its
// menu that could ever fit, and waits for it. With `per_pool` each pool has a line of its own.
#pragma once

#include <deque>
#include <vector>

#include "sim/replay/decisions.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

struct FifoParameters {
  bool per_pool = false;
  sim::Placement placement = sim::Placement::consolidated;
};

class Fifo final : public sim::Queue {
 public:
  explicit Fifo(const FifoParameters& parameters = {}) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  struct Waiting {
    sim::JobSlot slot;
    std::uint64_t number;
  };
  void join(const sim::QueueView& view, sim::JobSlot slot);
  void serve(std::deque<Waiting>& line, const sim::QueueView& view, sim::QueueAnswer& answer);

  FifoParameters parameters_;
  std::vector<std::deque<Waiting>> lines_;
  std::vector<std::uint64_t> number_in_line_;  // by slot; a waiting job that ended leaves a stale entry in its line
  sim::FreeDevices free_;
};

}  // namespace rehearse::policies
