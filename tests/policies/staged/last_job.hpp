// What became of the one job of a replay.
#pragma once

#include "sim/replay/records.hpp"

namespace rehearse::tests {

class LastJob final : public sim::Recorder {
 public:
  sim::JobRecord record;
  bool keeps_limits = false;
  void on_job(const sim::JobRecord& r) override {
    record = r;
    keeps_limits = r.keeps_limits();
    record.job = nullptr;  // the replay's own, gone with it
  }
};

}  // namespace rehearse::tests
