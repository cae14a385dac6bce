#include "experiments/studies/placement_orderings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace rehearse::scenarios {

namespace {

constexpr double kNothing = 0.02;  // of a step: less is no gain
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kGpus{2, 4};

bool learns(const std::string& method) { return method.starts_with("rl"); }
bool searches(const std::string& method) { return learns(method) || method == "annealing"; }

struct Finding {
  std::string ordering, paper, ours;
  std::optional<bool> holds;
};

/// The answers under one assumption.
class Answers {
 public:
  Answers(const std::vector<PaperAnswer>& all, const std::string& assumption) {
    for (const PaperAnswer& answer : all)
      if (answer.assumption == assumption) answers_.push_back(answer);
    // Where nobody learnt, annealing stands for it.
    any_learnt_ = std::any_of(answers_.begin(), answers_.end(), [](const PaperAnswer& a) { return learns(a.method); });
  }

  std::vector<Finding> findings() const {
    return {one_gpu_is_best(),
            does_not_fit(),
            learnt_beats_expert(),
            gains(4, 0.10, 0.25),
            gains(2, -kInfinity, kNothing),
            expert_beats("rnnlm"),
            expert_beats("nmt"),
            expert_beats("inception-v3")};
  }

 private:
  using Chosen = bool (*)(const std::string&);

  /// The best that fits; infinite when none of those that there are does.
  std::optional<double> best(const std::string& model, int gpus, Chosen chosen) const {
    std::optional<double> least;
    for (const PaperAnswer& a : answers_)
      if (a.model == model && a.gpus == gpus && chosen(a.method))
        least = std::min(least.value_or(kInfinity), a.fits ? a.step_s : kInfinity);
    return least;
  }
  std::optional<double> learnt(const std::string& model, int gpus) const {
    return best(model, gpus, any_learnt_ ? static_cast<Chosen>(learns) : searches);
  }
  static bool is_single(const std::string& m) { return m == "single-gpu"; }
  static bool is_expert(const std::string& m) { return m == "expert"; }
  static bool is_partition(const std::string& m) { return m == "scotch" || m == "min-cut"; }
  static bool spreads(const std::string& m) { return !m.starts_with("single"); }

  static std::string shown(double step_s) { return step_s == kInfinity ? "does not fit" : fmt::format("{:.3g} s", step_s); }
  static std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

  Finding one_gpu_is_best() const {
    Finding f{"rnnlm is best on one GPU", "1.57 s with 1, 2, 4", {}, {}};
    const std::optional<double> one = best("rnnlm", 2, is_single);
    bool holds = one && *one < kInfinity;
    if (!one) return f;
    f.ours = shown(*one);
    for (const int gpus : kGpus) {
      const std::optional<double> spread = best("rnnlm", gpus, spreads);
      if (!spread) return f;
      f.ours += fmt::format(", {} with {}", shown(*spread), gpus);
      holds = holds && *spread >= (1 - kNothing) * *one;
    }
    f.holds = holds;
    return f;
  }

  Finding does_not_fit() const {
    Finding f{"nmt does not fit one GPU", "out of memory", {}, {}};
    const std::optional<double> one = best("nmt", 2, is_single);
    if (!one) return f;
    f.ours = shown(*one);
    f.holds = *one == kInfinity;
    return f;
  }

  Finding learnt_beats_expert() const {
    Finding f{"nmt: learned beats the expert by 15 to 25 %", "19.0, 17.1 %", {}, {}};
    bool holds = true;
    for (const int gpus : kGpus) {
      const std::optional<double> rl = learnt("nmt", gpus), expert = best("nmt", gpus, is_expert);
      if (!rl || !expert) return f;
      const double gain = *expert == kInfinity ? 1 : 1 - *rl / *expert;
      f.ours += (f.ours.empty() ? "" : ", ") + (*expert == kInfinity ? "the expert's does not fit" : percent(gain));
      holds = holds && gain >= 0.15 && gain <= 0.25;
    }
    f.holds = holds;
    return f;
  }

  Finding gains(int gpus, double least, double most) const {
    Finding f{gpus == 4 ? "inception-v3 gains 10 to 25 % with 4 GPUs" : "inception-v3 gains nothing with 2 GPUs",
              gpus == 4 ? "16.3 %" : "0.0 %",
              {},
              {}};
    const std::optional<double> one = best("inception-v3", gpus, is_single), rl = learnt("inception-v3", gpus);
    if (!one || !rl) return f;
    const double gain = *one == kInfinity ? 1 : 1 - *rl / *one;
    f.ours = *one == kInfinity ? "one GPU does not hold it" : percent(gain);
    f.holds = gain >= least && gain <= most;
    return f;
  }

  Finding expert_beats(const std::string& model) const {
    Finding f{model + ": the expert beats SCOTCH and MinCut", "2 to 3 times", {}, {}};
    bool holds = true;
    for (const int gpus : kGpus) {
      const std::optional<double> expert = best(model, gpus, is_expert), partition = best(model, gpus, is_partition);
      if (!expert || !partition) return f;
      f.ours += fmt::format("{}{} against {}", f.ours.empty() ? "" : ", ", shown(*expert), shown(*partition));
      holds = holds && *expert < *partition;
    }
    f.holds = holds;
    return f;
  }

  std::vector<PaperAnswer> answers_;
  bool any_learnt_ = false;
};

}  // namespace

report::Table orderings_table(const std::vector<PaperAnswer>& answers) {
  report::Table table{.name = "placement-orderings",
                      .title = "Orderings of Mirhoseini et al. (2017), table 2",
                      .columns = {{"assumption", "assumption"},
                                  {"ordering", "ordering"},
                                  {"paper", "paper"},
                                  {"ours", "here"},
                                  {"holds", "holds"}},
                      .rows = {}};
  std::vector<std::string> assumptions;
  for (const PaperAnswer& answer : answers)
    if (std::find(assumptions.begin(), assumptions.end(), answer.assumption) == assumptions.end())
      assumptions.push_back(answer.assumption);
  struct Tally {
    std::string ordering, paper;
    int held = 0, judged = 0;
  };
  std::vector<Tally> tallies;
  for (const std::string& assumption : assumptions) {
    const std::vector<Finding> findings = Answers(answers, assumption).findings();
    if (std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.holds.has_value(); })) continue;
    int held = 0;
    tallies.resize(findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const Finding& f = findings[i];
      table.rows.push_back({assumption, f.ordering, f.paper, f.ours, std::string(!f.holds ? "" : *f.holds ? "yes" : "no")});
      held += f.holds.value_or(false);
      tallies[i].ordering = f.ordering;
      tallies[i].paper = f.paper;
      tallies[i].held += f.holds.value_or(false);
      tallies[i].judged += f.holds.has_value();
    }
    table.rows.push_back(
        {assumption, std::string("held"), fmt::format("{}", findings.size()), fmt::format("{}", held), std::string()});
  }
  if (assumptions.size() < 2) return table;
  for (const Tally& t : tallies)
    table.rows.push_back(
        {std::string("all"), t.ordering, t.paper, fmt::format("held under {} of {}", t.held, t.judged), std::string()});
  return table;
}

}  // namespace rehearse::scenarios
