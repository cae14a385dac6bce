#include <algorithm>
#include <cmath>
#include <exception>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <unordered_map>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/flow_network.hpp"
#include "sim/engine/simgrid_setup.hpp"

namespace rehearse::sim {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::Model;

/// A host for each endpoint, and a route for each way.
std::vector<s4u::Host*> make_platform(const Ways& ways) {
  s4u::NetZone* zone = s4u::create_full_zone("machine");
  std::vector<s4u::Host*> hosts;
  for (int i = 0; i < ways.endpoints; ++i) hosts.push_back(zone->create_host("h" + std::to_string(i), 1e9)->seal());
  std::vector<s4u::LinkInRoute> links;
  for (std::size_t i = 0; i < ways.bandwidths_bytes_per_s.size(); ++i)
    links.emplace_back(zone->create_link("l" + std::to_string(i), ways.bandwidths_bytes_per_s[i])->set_latency(0)->seal());
  for (int from = 0; from < ways.endpoints; ++from)
    for (int to = 0; to < ways.endpoints; ++to) {
      const std::vector<std::int32_t>& way = ways.links[from * ways.endpoints + to];
      if (way.empty()) continue;
      std::vector<s4u::LinkInRoute> route;
      for (const std::int32_t link : way) route.push_back(links[link]);
      zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, route, false);
    }
  zone->seal();
  return hosts;
}

/// Runs the client's dates in SimGrid's main loop, beside the network. A flow is found by its Comm's activity: the pointers are
/// looked up, never gone through in their order.
class StepEvents final : public Model {
 public:
  StepEvents(const Ways& ways, FlowClient& client)
      : Model("step events"), ways_(ways), client_(client), hosts_(make_platform(ways)) {
    for (Model* model : s4u::Engine::get_instance()->get_all_models())
      if (model->get_name().find("Network") != std::string::npos) network_ = model;
    check(network_ != nullptr, "SimGrid has a network");
  }

  double next_occurring_event(double now) override {
    if (failure_) return -1.0;
    if (again_) return 0.0;  // shares are worked out once more at this date
    const Tick date = next_date();
    return date == kNeverTick ? -1.0 : std::max(0.0, seconds_of(date) - now);
  }

  void update_actions_state(double now, double /*delta*/) override {
    if (failure_) return;
    try {
      update(now);
    } catch (...) {  // SimGrid's loop must be left in the usual way
      failure_ = std::current_exception();
    }
  }

  void finish() const {
    if (failure_) std::rethrow_exception(failure_);
    check(flows_.empty() && next_date() == kNeverTick, "SimGrid stopped before the last event");
  }

 private:
  struct Flow {
    std::int32_t flow;
    s4u::CommPtr comm;
  };

  Tick next_date() const { return std::min(client_.next_date(), ended_.empty() ? kNeverTick : seen_); }

  void update(double now) {
    again_ = false;
    dropped_.clear();  // a Comm outlives its completion by one round
    for (Action& action : *network_->get_finished_action_set()) take(action, now);
    const Tick date = next_date();
    if (date == kNeverTick || seconds_of(date) - now > kSameTime * kStepGrid) return;
    const double early_s = seconds_of(date) + kSeenEarly * kStepGrid - now;
    for (Action& action : *network_->get_started_action_set())
      if (action.get_remains() <= early_s * action.get_rate()) {
        action.set_remains(0);  // SimGrid ends it in the next round, at this date
        again_ = true;
      }
    if (again_) return;
    std::vector<std::int32_t> ended;
    std::swap(ended, ended_);
    for (const FlowStart& flow : client_.at(date, ended)) start(flow);
  }

  void start(const FlowStart& flow) {
    s4u::CommPtr comm = s4u::Comm::sendto_init(hosts_[flow.way / ways_.endpoints], hosts_[flow.way % ways_.endpoints]);
    comm->set_payload_size(static_cast<std::uint64_t>(flow.bytes));
    comm->start();
    flows_.emplace(comm->get_impl(), Flow{flow.flow, comm});
  }

  void take(Action& action, double now) {
    const auto found = flows_.find(action.get_activity());
    if (found == flows_.end()) return;
    if (ended_.empty()) seen_ = whole_ticks(std::ceil(now * 0x1p30 - kSeenEarly));
    ended_.push_back(found->second.flow);
    dropped_.push_back(std::move(found->second.comm));
    flows_.erase(found);
  }

  const Ways& ways_;
  FlowClient& client_;
  std::vector<s4u::Host*> hosts_;
  Model* network_ = nullptr;
  std::unordered_map<const void*, Flow> flows_;
  std::vector<s4u::CommPtr> dropped_;
  std::vector<std::int32_t> ended_;
  Tick seen_ = 0;  // the date at which those have ended
  bool again_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void SimGridNetwork::run(FlowClient& client) {
  SimGridEngine engine({"--cfg=network/optim:Full"});
  auto events = std::make_shared<StepEvents>(ways_, client);
  (*engine).add_model(events);
  (*engine).run();
  events->finish();
}

}  // namespace rehearse::sim
