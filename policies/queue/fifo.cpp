#include "policies/queue/fifo.hpp"

namespace rehearse::policies {

namespace {

constexpr std::uint64_t kNotInLine = ~std::uint64_t{0};

}  // namespace

void Fifo::join(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& queued = view.jobs[slot];
  const auto entry = static_cast<std::size_t>(queued.first_fitting_entry);
  const int pool = queued.menu.ranked[entry].configuration.groups.front().pool;
  if (number_in_line_.size() <= slot) number_in_line_.resize(slot + 1, kNotInLine);
  number_in_line_[slot] = queued.number;
  lines_[parameters_.per_pool ? static_cast<std::size_t>(pool) : 0].push_back({slot, queued.number});
}

void Fifo::serve(std::deque<Waiting>& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  for (; !line.empty(); line.pop_front()) {
    const Waiting head = line.front();
    if (number_in_line_[head.slot] != head.number) continue;  // ended while it waited
    const sim::QueueJob& queued = view.jobs[head.slot];
    const auto entry = static_cast<std::size_t>(queued.first_fitting_entry);
    if (!free_.take(queued.menu.ranked[entry].configuration, parameters_.placement)) {
      answer.heads.push_back(head.slot);
      return;
    }
    number_in_line_[head.slot] = kNotInLine;
    answer.starts.push_back(
        {.job = head.slot, .entry = queued.first_fitting_entry, .placement = parameters_.placement, .shares = true});
  }
}

void Fifo::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  if (lines_.empty()) lines_.resize(parameters_.per_pool ? view.cluster->pools.size() : 1);
  for (const sim::JobSlot slot : view.ended)
    if (slot < number_in_line_.size()) number_in_line_[slot] = kNotInLine;
  for (const sim::JobSlot slot : view.queued) join(view, slot);
  free_.reset(view);
  for (std::deque<Waiting>& line : lines_) serve(line, view, answer);
}

}  // namespace rehearse::policies
