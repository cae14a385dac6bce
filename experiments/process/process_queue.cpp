#include "experiments/process/messages.hpp"
#include "experiments/process/process_strategy.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "sim/engine/engine.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::scenarios {

namespace {

/// The event loop takes 1,000 rounds at one date, and as many more for each job, for a bug of ours.
constexpr std::size_t kMostAtADate = 900;

const std::vector<std::string> kPlacements{"consolidated", "best-fit", "spread", "network-aware"};  // in Placement's order

void write_free(const sim::QueueView& view, bool nodes, JsonLine& out) {
  const std::vector<sim::Pool>& pools = view.cluster->pools;
  out.key("free_devices").open('[');
  for (const int free : view.free_devices) out.number(free);
  out.close(']');
  if (!nodes) return;
  out.key("free_on_nodes").open('[');
  for (std::size_t p = 0; p < pools.size(); ++p) {
    out.open('[');
    for (int node = 0; node < view.nodes[p].node_count(); ++node) out.number(view.nodes[p].free_on(node));
    out.close(']');
  }
  out.close(']');
}

std::vector<sim::NodeShare> read_shares(sim::JsonValue list, sim::Mistakes& mistakes) {
  std::vector<sim::NodeShare> shares;
  for (const sim::JsonValue value : sim::read_list(list, mistakes)) {
    sim::ObjectReader one(value, mistakes);
    shares.push_back({.node = static_cast<int>(one.integer("node", sim::between(0, 1e6))),
                      .devices = static_cast<int>(one.integer("devices", traces::kGpuCounts))});
    one.finish();
  }
  return shares;
}

}  // namespace

void ProcessQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  check_date(view);
  process_.ask([&](JsonLine& out) { write_news(view, out); },
               [&](sim::ObjectReader& in, sim::Mistakes& mistakes) { read_answer(view, in, answer, mistakes); });
}

void ProcessQueue::check_date(const sim::QueueView& view) {
  at_this_date_ = view.now_s == last_s_ ? at_this_date_ + 1 : 0;
  last_s_ = view.now_s;
  const std::size_t most = kMostAtADate + sim::kRoundsPerJob * view.jobs.size();
  if (at_this_date_ > most) throw sim::PolicyError(fmt::format("goes on deciding after {} times at one date", most));
}

void ProcessQueue::write_news(const sim::QueueView& view, JsonLine& out) {
  ++requests_;
  told_.resize(view.jobs.size());
  out.key("now_s").number(view.now_s).key("ended").open('[');
  for (const sim::JobSlot slot : view.ended) {
    if (told_[slot].job) {
      out.text(view.jobs[slot].job.name);
      slot_of_.erase(view.jobs[slot].job.name);
    }
    told_[slot] = {.in_request = requests_};
  }
  out.close(']').key("jobs").open('[');
  for (const auto& slots : {view.queued, view.started, view.changed}) {
    for (const sim::JobSlot slot : slots) {
      if (told_[slot].in_request == requests_) continue;
      write_job_news(view.jobs[slot], told_[slot], *view.cluster, out);
      slot_of_[view.jobs[slot].job.name] = slot;
    }
  }
  out.close(']');
  write_free(view, process_.wants("nodes"), out);
  if (view.sight == nullptr || !process_.wants("now")) return;
  out.key("now");
  write_now(*view.sight, *view.cluster, nullptr, out);
}

void ProcessQueue::write_job_news(const sim::QueueJob& queued, Told& told, const sim::Cluster& cluster, JsonLine& out) {
  const sim::Service& service = queued.service;
  out.open('{').key("job_id").text(queued.job.name).key("state").text(name_of(service.state));
  if (service.entry >= 0) out.key("entry").number(service.entry).key("devices").number(service.devices);
  out.key("since_s").number(service.since_s).key("device_s").number(service.device_s).key("ran_s").number(service.ran_s);
  out.key("fraction_done").number(service.fraction_done);
  if (!told.job) {
    out.key("job");
    write_job(queued.job, cluster, out);
  }
  if (told.menu != queued.menu.ranked.data()) {
    out.key("menu").open('[');
    for (const sim::Choice& choice : queued.menu.ranked) write_choice(choice, cluster, out);
    out.close(']').key("first_fitting_entry").number(queued.first_fitting_entry);
  }
  out.close('}');
  told = {.job = true, .menu = queued.menu.ranked.data(), .in_request = requests_};
}

sim::JobSlot ProcessQueue::read_job(sim::JsonValue name, sim::Mistakes& mistakes) const {
  const auto known = slot_of_.find(std::string(sim::read_text(name, mistakes)));
  if (known != slot_of_.end()) return known->second;
  name.refuse("a job that waits or runs", mistakes);
  return 0;
}

sim::Start ProcessQueue::read_start(sim::JsonValue value, const sim::QueueView& view, sim::Mistakes& mistakes) const {
  sim::ObjectReader in(value, mistakes);
  sim::Start start;
  const auto job = in.required("job_id", "the name of a job");
  if (job) start.job = read_job(*job, mistakes);
  const int first = start.job < view.jobs.size() ? view.jobs[start.job].first_fitting_entry : 0;
  start.entry = static_cast<int>(in.integer("entry", sim::between(0, 1e6), first));
  start.placement = static_cast<sim::Placement>(in.choice("placement", kPlacements, 0));
  start.shares = in.boolean("shares", false);
  if (in.has("nodes"))
    for (const sim::JsonValue of_group : in.list("nodes")) start.nodes.push_back(read_shares(of_group, mistakes));
  in.finish();
  return start;
}

void ProcessQueue::read_answer(const sim::QueueView& view, sim::ObjectReader& in, sim::QueueAnswer& answer,
                               sim::Mistakes& mistakes) {
  const auto jobs = [&](std::string_view key, std::vector<sim::JobSlot>& out) {
    if (in.has(key))
      for (const sim::JsonValue name : in.list(key)) out.push_back(read_job(name, mistakes));
  };
  const auto starts = [&](std::string_view key, std::vector<sim::Start>& out) {
    if (in.has(key))
      for (const sim::JsonValue value : in.list(key)) out.push_back(read_start(value, view, mistakes));
  };
  starts("start", answer.starts);
  jobs("preempt", answer.preempts);
  starts("resize", answer.resizes);
  jobs("reject", answer.rejects);
  jobs("heads", answer.heads);
  if (const auto wake = in.maybe_number("wake_at_s", traces::kDates)) answer.wake_at_s = *wake;
}

}  // namespace rehearse::scenarios
