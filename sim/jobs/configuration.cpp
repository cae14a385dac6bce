#include "sim/jobs/configuration.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

namespace rehearse::sim {

int Configuration::workers() const {
  int sum = 0;
  for (const Group& group : groups) sum += group.workers;
  return sum;
}

long Configuration::workers_of(PoolId pool) const {
  long sum = 0;
  for (const Group& group : groups)
    if (group.pool == pool) sum += group.workers;
  return sum;
}

double on_share_grid(double fraction) { return std::max(kShareGrid, std::floor(fraction / kShareGrid) * kShareGrid); }

double Configuration::devices_held() const {
  double held = 0;
  for (const Group& group : groups) held += devices_held(group);
  return held;
}

bool Configuration::needs_nodes() const {
  return std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.nodes > 0; });
}

double Configuration::batch_size() const {
  if (sync.kind == SyncKind::servers_async) return groups.front().batch_per_worker;
  double sum = 0;
  for (const Group& group : groups) sum += static_cast<double>(group.workers) * group.batch_per_worker;
  return sum;
}

namespace {

/// Every number of a choice, in one order.
template <class Visit>
void visit_numbers(const Choice& choice, Visit&& visit) {
  const Configuration& c = choice.configuration;
  for (const double value : {c.learning_rate, c.power_limit_w, c.share.fraction, c.share.memory_bytes, choice.until_epochs})
    visit(value);
  const Prediction& p = choice.predicted;
  for (const double value : {p.time_s, p.accuracy, p.cost_usd, p.ranked_cost_usd, p.safe_cost_usd, p.epochs}) visit(value);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const std::vector<Choice>& choices) {
  std::uint64_t hash = choices.size();
  for (const Choice& choice : choices) {
    for (const Group& group : choice.configuration.groups) {
      hash = mixed(hash, static_cast<std::uint64_t>(group.pool));
      hash = mixed(hash, (static_cast<std::uint64_t>(group.workers) << 32) | static_cast<std::uint32_t>(group.batch_per_worker));
      if (group.nodes > 0) hash = mixed(hash, static_cast<std::uint64_t>(group.nodes));
    }
    visit_numbers(choice, [&hash](double value) { hash = mixed(hash, std::bit_cast<std::uint64_t>(value)); });
    hash = mixed(hash, static_cast<std::uint64_t>(choice.configuration.share.parts));
    const Sync& sync = choice.configuration.sync;
    hash = mixed(hash, (static_cast<std::uint64_t>(sync.kind) << 40) | static_cast<std::uint32_t>(sync.servers));
    hash = mixed(hash, (choice.predicted.feasible ? 2u : 0u) | (choice.predicted.extrapolated ? 1u : 0u));
    hash = mixed(hash, std::hash<std::string>{}(choice.predicted.note));
  }
  return hash;
}

bool are_same(const std::vector<Choice>& a, const std::vector<Choice>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same);
}

}  // namespace

bool is_same(const Choice& a, const Choice& b) {
  const Configuration &x = a.configuration, &y = b.configuration;
  const Prediction &p = a.predicted, &q = b.predicted;
  if (x.groups != y.groups || !(x.sync == y.sync) || p.feasible != q.feasible || p.extrapolated != q.extrapolated ||
      p.note != q.note)
    return false;
  // Bit for bit: predictions that are not given are no numbers, and equal nothing.
  constexpr std::size_t kNumbers = 11;
  std::array<std::uint64_t, kNumbers> of_a{}, of_b{};
  const auto put = [](std::array<std::uint64_t, kNumbers>& all) {
    return [&all, at = std::size_t{0}](double value) mutable { all[at++] = std::bit_cast<std::uint64_t>(value); };
  };
  visit_numbers(a, put(of_a));
  visit_numbers(b, put(of_b));
  return of_a == of_b;
}

void SharedChoices::share(Choices& choices) {
  if (choices.size() < 2) return;  // a rigid job's is smaller than what would be kept of it
  std::weak_ptr<std::vector<Choice>>& known = known_[hash_of(*choices.all_)];
  if (const auto other = known.lock(); other == choices.all_)
    return;
  else if (other != nullptr && are_same(*other, *choices.all_))
    choices.all_ = other;
  else
    known = choices.all_;
  if (known_.size() < 2 * tidied_ + 64) return;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  tidied_ = known_.size();
}

void QueueAnswer::clear() {
  starts.clear();
  preempts.clear();
  resizes.clear();
  rejects.clear();
  heads.clear();
  wake_at_s = acts_at_s = std::numeric_limits<double>::infinity();
}

}  // namespace rehearse::sim
