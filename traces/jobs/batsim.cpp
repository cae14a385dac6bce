// Batsim's workloads (Batsim's documentation, "Workload"): JSON with jobs and, by name, profiles that say what a job does. Only
// delay profiles, and sequences of them, say how long that takes without a platform. The profiles are read first and kept, the
// jobs stream.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

/// "4" and 4 are the same name: older files have numbers.
std::string name_of(std::optional<sim::JsonValue> value, sim::Mistakes& mistakes) {
  if (!value) return {};
  if (value->is_number()) return fmt::format("{}", value->number());
  return std::string(sim::read_text(*value, mistakes));
}

class Batsim final : public JsonTrace {
 public:
  explicit Batsim(const std::string& path) : JsonTrace(path, "jobs") { read_profiles(); }

  std::vector<std::string> notes() const override { return {"a resource of the file counts as a GPU"}; }

 private:
  static constexpr std::size_t kMostProfiles = 1'000'000;
  struct Profile {
    std::string type;
    double delay_s = kNotGiven;
    std::vector<std::string> sequence;  ///< names of profiles, one after the other
    double repeat = kNotGiven;

    bool is_delay() const { return type == "delay" || type == "DelayProfile"; }
    bool is_sequence() const { return type == "composed" || type == "SequentialCompositionProfile"; }
  };

  void read_profiles() {
    sim::JsonItems items(path(), "profiles");
    sim::JsonItem item;
    TraceRow row;
    sim::Mistakes mistakes;
    while (items.next(item)) {
      const auto document = parse_item(item, path(), row);
      if (!document || !document->root().is_object()) continue;  // whoever uses it will miss it
      sim::ObjectReader in(document->root(), mistakes);
      Profile profile{.type = in.text("type", std::string())};
      const auto delay = in.child("delay");
      if (profile.is_delay() && delay && delay->is_number() && kDurations.contains(delay->number()))
        profile.delay_s = delay->number();
      if (profile.is_sequence()) read_sequence(in, profile);
      profiles_[item.name] = std::move(profile);
      if (profiles_.size() > kMostProfiles)
        throw sim::InputError(
            {.file = path(), .line = item.line, .expected = fmt::format("at most {} profiles", kMostProfiles), .found = "more"});
    }
  }

  void read(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) override {
    sim::ObjectReader in(value, mistakes);
    TraceJob& job = row.job;
    job.job_id = name_of(in.required("id", "a name"), mistakes);
    job.submit_s = in.number("subtime", kDates);
    job.gpus = static_cast<double>(in.integer("res", kGpuCounts));
    const auto walltime = in.maybe_number("walltime");
    if (walltime && kDurations.contains(*walltime))
      job.walltime_s = *walltime;
    else if (walltime && *walltime != -1)  // -1 is none
      row.repairs.push_back({"walltime", kDurations.describe() + ", or -1: set aside", fmt::format("{}", *walltime)});
    for (const sim::JsonValue dependency : in.has("dependencies") ? in.list("dependencies") : std::vector<sim::JsonValue>{})
      for (std::string& name : split_names(name_of(dependency, mistakes))) job.after.push_back(std::move(name));
    job.user = in.has("user") ? name_of(in.child("user"), mistakes) : std::string();
    job.partition = in.has("partition") ? name_of(in.child("partition"), mistakes) : std::string();
    const std::string name = name_of(in.required("profile", "the name of a profile"), mistakes);
    if (name.empty()) return;
    const auto profile = profiles_.find(name);
    if (profile == profiles_.end()) {
      row.refuse("profile", "the name of a profile", fmt::format("\"{}\"", name));
    } else if (!profile->second.is_delay() && !profile->second.is_sequence()) {
      row.refuse("profile", "a delay profile, or a sequence of them: others last as long as the platform makes them",
                 fmt::format("\"{}\" of type \"{}\"", name, profile->second.type));
    } else if (const double duration_s = duration_of(profile->second, 0); kDurations.contains(duration_s)) {
      job.duration_s = duration_s;
    } else {
      row.refuse("profile", "a profile with a delay, " + kDurations.describe(), fmt::format("\"{}\"", name));
    }
  }

  /// Once where it does not say how often.
  static void read_sequence(sim::ObjectReader& in, Profile& profile) {
    auto repeat = in.child("repeat");
    if (!repeat) repeat = in.child("nb");
    if (!repeat)
      profile.repeat = 1;
    else if (repeat->is_number() && repeat->number() >= 1 && repeat->number() == std::floor(repeat->number()))
      profile.repeat = repeat->number();
    const auto names = in.child("seq");
    if (names && names->is_array())
      for (const sim::JsonValue name : names->elements())
        profile.sequence.push_back(name.is_string() ? std::string(name.text()) : name.json());
  }

  /// Worked out once. Not given where a profile of another kind is among its sequence, or its own name.
  double duration_of(Profile& profile, int depth) {
    constexpr int kDeepest = 100;
    if (profile.sequence.empty() || depth > kDeepest) return profile.delay_s;
    const std::vector<std::string> names = std::move(profile.sequence);
    profile.sequence.clear();
    double sum_s = 0;
    for (auto name = names.begin(); is_given(sum_s) && name != names.end(); ++name) {
      const auto next = profiles_.find(*name);
      sum_s += next != profiles_.end() ? duration_of(next->second, depth + 1) : kNotGiven;
    }
    return profile.delay_s = profile.repeat * sum_s;
  }

  std::map<std::string, Profile> profiles_;
};

}  // namespace

std::unique_ptr<TraceReader> open_batsim(const std::string& path) { return std::make_unique<Batsim>(path); }

}  // namespace rehearse::traces
