// The set-up of SimGrid's engine that all of our runs share. For this room's sources alone.
#pragma once

#include <csignal>
#include <initializer_list>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

/// SimGrid's Engine replaces the handlers of these signals when it is created.
class SignalKeeper {
 public:
  SignalKeeper() {
    sigaction(SIGINT, nullptr, &interrupt_);
    sigaction(SIGSEGV, nullptr, &fault_);
  }
  ~SignalKeeper() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGSEGV, &fault_, nullptr);
  }
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction fault_ {};
};

/// SimGrid's engine with settings that keep dates exact (precision, no hidden latency factors) and no platform.
class SimGridEngine {
 public:
  /// `settings`: further ones, as SimGrid's command line has them.
  explicit SimGridEngine(std::initializer_list<const char*> settings = {}) {
    check(!simgrid::s4u::Engine::is_initialized(), "a process runs SimGrid's engine once");
    words_.insert(words_.end(), settings.begin(), settings.end());
    const SignalKeeper keep;
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    int count = static_cast<int>(words_.size());
    engine_ = std::make_unique<simgrid::s4u::Engine>(&count, arguments_.data());
  }
  simgrid::s4u::Engine& operator*() { return *engine_; }

 private:
  std::vector<std::string> words_{"rehearse",
                                  "--log=root.thres:warning",
                                  "--cfg=network/model:CM02",
                                  "--cfg=network/crosstraffic:0",
                                  "--cfg=network/TCP-gamma:0",
                                  "--cfg=surf/precision:1e-12"};
  std::vector<char*> arguments_;
  std::unique_ptr<simgrid::s4u::Engine> engine_;
};

}  // namespace rehearse::sim
