// Jobs that are known beforehand, as the replay asks for them.
#pragma once

#include <optional>
#include <span>

#include "sim/jobs/job.hpp"

namespace rehearse::traces {

class VectorSource final : public sim::JobSource {
 public:
  /// The jobs, by date, must outlive the source.
  explicit VectorSource(std::span<const sim::Job> jobs) : left_(jobs) {}

  std::optional<sim::Job> next() override {
    if (left_.empty()) return std::nullopt;
    const sim::Job& job = left_.front();
    left_ = left_.subspan(1);
    return job;
  }

 private:
  std::span<const sim::Job> left_;
};

}  // namespace rehearse::traces
