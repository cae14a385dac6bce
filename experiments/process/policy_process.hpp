// A decision that a process makes: the conversation with it, from "hello" to "bye" (docs/reference/protocol.md).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "experiments/process/line_talk.hpp"
#include "experiments/process/messages.hpp"
#include "policies/registry/bundle.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::string_view kLogPrefix = "stderr-";  ///< of the file of a decision's process, in OutsideInputs::folder

/// As the scenario has it.
struct ProcessSettings {
  ProcessCommand command;
  double timeout_s = 60;
};

class PolicyProcess {
 public:
  /// Starts it and says hello: the policy, the decision, a seed and the cluster. Throws PolicyError when it does not answer well.
  PolicyProcess(const ProcessSettings& settings, std::string decision, const policies::OutsideInputs& inputs);
  /// Says bye. What it does then is its own affair.
  ~PolicyProcess();
  PolicyProcess(const PolicyProcess&) = delete;
  PolicyProcess& operator=(const PolicyProcess&) = delete;

  /// Whether its hello asked for these parts of requests.
  bool wants(std::string_view part) const { return wants_.contains(std::string(part)); }
  const sim::Cluster& cluster() const { return cluster_; }

  /// Asks for one decision: `write` adds members to the request, `read` takes those of the answer. Throws PolicyError for
  /// whatever is wrong with the answer.
  void ask(const std::function<void(JsonLine&)>& write, const std::function<void(sim::ObjectReader&, sim::Mistakes&)>& read);

 private:
  void say_hello(const policies::OutsideInputs& inputs);
  void read_answer(std::string line, const std::function<void(sim::ObjectReader&, sim::Mistakes&)>& read);

  const std::string decision_;
  const sim::Cluster& cluster_;
  LineTalk talk_;
  std::set<std::string> wants_;
  std::uint64_t asked_ = 0;
};

}  // namespace rehearse::scenarios
