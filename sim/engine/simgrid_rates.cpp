#include "sim/engine/simgrid_rates.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <string>
#include <unordered_map>

#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"
#include "sim/engine/simgrid_setup.hpp"

namespace rehearse::sim {
namespace {

namespace s4u = simgrid::s4u;

/// SimGrid's precision of shares is absolute: bandwidths are scaled so that the largest is this.
constexpr double kLargestScaled = 1e9;
constexpr std::uint64_t kNeverSent = std::uint64_t{1} << 60;  // bytes that no flow sends in the second that is simulated

/// For a process that ends then: Comms that have not ended can neither be dropped nor outlive their engine, so both are left.
std::vector<double> rates_of(std::span<const double> capacities, std::span<const CappedFlow> flows) {
  auto& engine = *new SimGridEngine({"--cfg=network/optim:Full"});
  double largest = *std::max_element(capacities.begin(), capacities.end());
  for (const CappedFlow& flow : flows) largest = std::max(largest, flow.cap);
  const double scale = kLargestScaled / largest;
  s4u::NetZone* zone = s4u::create_full_zone("jobs");
  const auto link = [&](const std::string& name, double bandwidth) {
    return zone->create_link(name, bandwidth * scale)->set_latency(0)->seal();
  };
  std::vector<const s4u::Link*> links;
  for (std::size_t l = 0; l < capacities.size(); ++l) links.push_back(link("l" + std::to_string(l), capacities[l]));
  std::vector<std::pair<s4u::Host*, s4u::Host*>> ends;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const std::string name = std::to_string(f);
    ends.emplace_back(zone->create_host("a" + name, 1e9)->seal(), zone->create_host("b" + name, 1e9)->seal());
    std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(link("cap" + name, flows[f].cap))};
    for (const std::int32_t l : flows[f].links) route.emplace_back(links[static_cast<std::size_t>(l)]);
    zone->add_route(ends.back().first->get_netpoint(), ends.back().second->get_netpoint(), nullptr, nullptr, route, false);
  }
  zone->seal();
  auto& comms = *new std::vector<s4u::CommPtr>;
  std::unordered_map<const void*, std::size_t> flow_of;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    comms.push_back(s4u::Comm::sendto_init(ends[f].first, ends[f].second));
    comms.back()->set_payload_size(kNeverSent);
    comms.back()->start();
    flow_of.emplace(comms.back()->get_impl(), f);
  }
  (*engine).run_until(1);
  std::vector<double> rates(flows.size());
  for (auto* model : s4u::Engine::get_instance()->get_all_models()) {
    if (model->get_name().find("Network") == std::string::npos) continue;
    for (auto& action : *model->get_started_action_set()) {
      const auto found = flow_of.find(action.get_activity());
      if (found != flow_of.end()) rates[found->second] = action.get_rate() / scale;
    }
  }
  for (const double rate : rates) check(rate > 0, "SimGrid gives every flow a rate");
  return rates;
}

// A problem is a list of numbers: links, their capacities, flows, and of each flow its cap, its links' number and they.

std::vector<double> written(std::span<const double> capacities, std::span<const CappedFlow> flows) {
  std::vector<double> numbers{static_cast<double>(capacities.size())};
  numbers.insert(numbers.end(), capacities.begin(), capacities.end());
  numbers.push_back(static_cast<double>(flows.size()));
  for (const CappedFlow& flow : flows) {
    numbers.push_back(flow.cap);
    numbers.push_back(static_cast<double>(flow.links.size()));
    numbers.insert(numbers.end(), flow.links.begin(), flow.links.end());
  }
  return numbers;
}

std::vector<double> answer_of(const std::vector<double>& numbers) {
  const double* next = numbers.data();
  const auto count = static_cast<std::size_t>(*next++);
  const std::vector<double> capacities(next, next + count);
  next += count;
  std::vector<CappedFlow> flows(static_cast<std::size_t>(*next++));
  for (CappedFlow& flow : flows) {
    flow.cap = *next++;
    const auto links = static_cast<std::size_t>(*next++);
    for (std::size_t l = 0; l < links; ++l) flow.links.push_back(static_cast<std::int32_t>(*next++));
  }
  return rates_of(capacities, flows);
}

/// False at the end of what there is.
bool receive_bytes(int socket, void* bytes, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t n = read(socket, static_cast<char*>(bytes) + done, count - done);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

bool send_bytes(int socket, const void* bytes, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t n = send(socket, static_cast<const char*>(bytes) + done, count - done, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}

bool send_numbers(int socket, const std::vector<double>& numbers) {
  const std::uint64_t count = numbers.size();
  return send_bytes(socket, &count, sizeof count) && send_bytes(socket, numbers.data(), count * sizeof(double));
}

bool receive_numbers(int socket, std::vector<double>& numbers) {
  std::uint64_t count = 0;
  if (!receive_bytes(socket, &count, sizeof count)) return false;
  numbers.resize(count);
  return receive_bytes(socket, numbers.data(), count * sizeof(double));
}

/// Until the other end is closed. An engine lives in a process of its own; no answer is the answer when it fails.
void serve(int socket) {
  std::vector<double> problem;
  while (receive_numbers(socket, problem)) {
    std::vector<double> rates;
    try {
      const std::string bytes = in_child([&] {
        const std::vector<double> found = answer_of(problem);
        return std::string(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(double));
      });
      rates.resize(bytes.size() / sizeof(double));
      std::memcpy(rates.data(), bytes.data(), bytes.size());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    if (!send_numbers(socket, rates)) return;
  }
}

}  // namespace

SimGridRates::SimGridRates() {
  int ends[2];
  std::fflush(nullptr);
  check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets could not be made");
  process_ = fork();
  check(process_ >= 0, "a child could not be forked");
  if (process_ == 0) {
    close(ends[0]);
    serve(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  socket_ = ends[0];
}

SimGridRates::~SimGridRates() {
  close(socket_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::vector<double> SimGridRates::solve(std::span<const double> capacities, std::span<const CappedFlow> flows) {
  std::vector<double> rates;
  if (flows.empty()) return rates;
  check(send_numbers(socket_, written(capacities, flows)) && receive_numbers(socket_, rates) && rates.size() == flows.size(),
        "SimGrid's rates did not come");
  return rates;
}

}  // namespace rehearse::sim
