// Jobs on spot nodes of one to three zones, one at a time: the rules of "Can't Be Late" (NSDI 2024), plans for the mean, the
// stochastic programme of zones' chains and the omniscient optimum, on zones that nothing was learned from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "experiments/run/map_processes.hpp"
#include "experiments/studies/spot_parts.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/staged/spot/zone_process.hpp"
#include "sim/base/random.hpp"
#include "sim/io/file.hpp"
#include "traces/nodes/availability.hpp"

namespace rehearse::scenarios {

namespace {

using policies::SpotTerms;

constexpr double kMostCells = 1e6;       ///< work x slack of a table: its memory
constexpr double kMostStartCells = 1e7;  ///< times the restart: the time to fill it
constexpr std::size_t kMostZones = 3;

class Spot final : public Study {
 public:
  explicit Spot(SpotQuestion question) : question_(std::move(question)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    const auto work = [&](int fold) { return text_of(run_spot_fold(question_, static_cast<std::size_t>(fold), scenario.seed)); };
    const std::vector<std::string> texts =
        map_processes(static_cast<int>(question_.folds.size()), processes_of(options), folder, work,
                      {.wanted = options.progress, .one_task = "fold", .one_part = "fold"});
    const std::vector<std::string> names = spot_policy_names(question_.ablations, question_.bound);
    std::vector<SpotVariant> variants;
    for (std::size_t f = 0; f < texts.size(); ++f) gather(texts[f], f, names.size(), variants);
    StudyResult result{.tables = spot_tables(variants, names), .saving = {.table = "spot", .column = "saving_usd"}};
    result.notes.emplace_back(
        "saving: on uniform-progress, from the lower bound of its 95 % interval (paired by job; windows of one series overlap). "
        "gap: (uniform-progress - policy) /\n(uniform-progress - omniscient). cheaper in: settings whose interval lies above 0. "
        "omniscient knows the future, which bounds all others (an information\nrelaxation), and so does dual-bound of all who do "
        "not. Nothing was learned from the zones "
        "that were tried, but by own-zones, which nobody\ncan follow.");
    return result;
  }

 private:
  static std::string text_of(const std::vector<SpotVariant>& variants) {
    std::string text;
    for (const SpotVariant& variant : variants) {
      text += fmt::format("{} ", variant.scores.front().size());
      for (const std::vector<SpotScore>& of_policy : variant.scores)
        for (const SpotScore& score : of_policy) text += fmt::format("{} {} {} ", score.usd, score.kept ? 1 : 0, score.overruled);
    }
    return text;
  }

  void gather(const std::string& text, std::size_t fold, std::size_t policies, std::vector<SpotVariant>& variants) const {
    std::istringstream in(text);
    const std::size_t zones = question_.folds[fold].test.size();
    for (const double restart_min : question_.restarts_min) {
      for (const double deadline_h : question_.deadlines_h) {
        auto variant = std::find_if(variants.begin(), variants.end(), [&](const SpotVariant& other) {
          return other.zones == zones && other.restart_min == restart_min && other.deadline_h == deadline_h;
        });
        if (variant == variants.end())
          variant =
              variants.insert(variants.end(), {zones, deadline_h, restart_min, std::vector<std::vector<SpotScore>>(policies)});
        std::size_t jobs = 0;
        in >> jobs;
        for (std::vector<SpotScore>& of_policy : variant->scores) {
          for (std::size_t job = 0; job < jobs; ++job) {
            SpotScore score;
            int kept = 0;
            sim::check(static_cast<bool>(in >> score.usd >> kept >> score.overruled), "a fold's scores came back incomplete");
            score.kept = kept != 0;
            of_policy.push_back(score);
          }
        }
      }
    }
  }

  SpotQuestion question_;
};

std::vector<std::string> read_names(sim::ObjectReader& in, std::string_view key, sim::Mistakes& mistakes) {
  std::vector<std::string> names;
  const auto list = in.required(key, "a list of zones");
  if (!list) return names;
  for (const sim::JsonValue value : sim::read_list(*list, mistakes)) {
    names.emplace_back(sim::read_text(value, mistakes));
    if (std::count(names.begin(), names.end(), names.back()) > 1) refuse_again(value, names.back(), "each zone once", mistakes);
  }
  return names;
}

std::vector<SpotFold> read_folds(sim::ObjectReader& in, const SpotQuestion& question, sim::Mistakes& mistakes) {
  std::vector<std::string> zones;
  for (const ZoneSeries& series : question.series)
    if (std::count(zones.begin(), zones.end(), series.zone) == 0) zones.push_back(series.zone);
  std::vector<SpotFold> folds;
  const auto list = in.required("folds", "a list of objects with \"train\" and \"test\"");
  if (!list) return folds;
  for (const sim::JsonValue value : sim::read_list(*list, mistakes)) {
    const std::size_t before = mistakes.size();
    sim::ObjectReader fold_in(value, mistakes);
    SpotFold fold{.train = read_names(fold_in, "train", mistakes), .test = read_names(fold_in, "test", mistakes)};
    fold_in.finish();
    for (const std::vector<std::string>* names : {&fold.train, &fold.test})
      for (const std::string& name : *names)
        if (!zones.empty()) known_name(value, name, zones, "a zone of the series", mistakes);
    for (const std::string& name : fold.test)
      if (std::count(fold.train.begin(), fold.train.end(), name) > 0)
        value.refuse(fmt::format("no zone in both \"train\" and \"test\", as \"{}\" is", name), mistakes);
    if (mistakes.size() == before && (fold.train.empty() || fold.test.empty() || fold.test.size() > kMostZones))
      value.refuse(fmt::format("one zone or more in \"train\", and one to {} in \"test\"", kMostZones), mistakes);
    if (mistakes.size() == before && !zones.empty() && question.tests_of(fold).empty())
      value.refuse("zones to test that were watched together for longer than the longest deadline", mistakes);
    folds.push_back(std::move(fold));
  }
  if (folds.empty() && mistakes.empty()) list->refuse("one fold or more", mistakes);
  return folds;
}

std::vector<double> read_quantiles(sim::ObjectReader& in, std::string_view key, double step_s, sim::Mistakes& mistakes) {
  std::vector<double> steps;
  if (!in.required(key, "a list of hours")) return steps;
  const std::vector<double> hours = read_numbers(in, key, {.low = 0, .high = 1e4, .low_excluded = true}, {1}, mistakes);
  for (const double h : hours) steps.push_back(h * 3600 / step_s);
  if (!std::is_sorted(steps.begin(), steps.end())) in.value().refuse(fmt::format("\"{}\" that ascend", key), mistakes);
  return steps;
}

/// Series drawn from fitted processes, of which all began on one date.
void read_processes(sim::JsonValue list, double days, std::uint64_t seed, SpotQuestion& question, sim::Mistakes& mistakes) {
  for (const sim::JsonValue value : sim::read_list(list, mistakes)) {
    sim::ObjectReader zone_in(value, mistakes);
    const std::string zone = zone_in.text("zone");
    const policies::ZoneProcess process{.up_steps = read_quantiles(zone_in, "up_h", question.step_s, mistakes),
                                        .down_steps = read_quantiles(zone_in, "down_h", question.step_s, mistakes)};
    zone_in.finish();
    for (const ZoneSeries& other : question.series)
      if (other.zone == zone) refuse_again(value, zone, "each zone once", mistakes);
    if (!mistakes.empty()) continue;
    sim::Random random(sim::stream_key(seed, 0, "spot zone", zone));
    question.series.push_back({"drawn", zone, draw_zone(process, {}, question.steps(days * 86400), random), process});
  }
}

/// Which series of a table are read.
struct NodeKind {
  std::string gpu;
  std::int64_t gpus_per_node = 1;
};

void read_series(sim::JsonValue file, const NodeKind& kind, const Paths& paths, Scenario& scenario, SpotQuestion& question,
                 sim::Mistakes& mistakes) {
  const std::string path =
      paths.resolve(file, mistakes, "run-length encode github.com/skypilot-org/spot-traces (docs/reference/studies.md)");
  if (path.empty()) return;
  try {
    for (traces::SpotSeries& series : traces::read_spot_series(path, question.step_s))
      if (series.gpu == kind.gpu && series.gpus_per_node == kind.gpus_per_node)
        question.series.push_back({std::move(series.start_date), std::move(series.zone), std::move(series.up), {}});
    traces::ImportReport report{.file = path, .sha256 = sim::sha256_of_file(path)};
    report.rows = report.jobs = static_cast<std::int64_t>(question.series.size());
    add_input(report, file.text(), scenario);
    if (question.series.empty())
      file.refuse(fmt::format("a file with series of {} {} a node", kind.gpus_per_node, kind.gpu), mistakes);
  } catch (const sim::InputError& error) {
    add_at(file, error, mistakes);
  }
}

}  // namespace

int SpotQuestion::steps(double seconds) const { return static_cast<int>(std::ceil(seconds / step_s - 1e-9)); }

SpotTerms SpotQuestion::terms(double deadline_h, double restart_min) const {
  return {.work = steps(work_h * 3600),
          .deadline = static_cast<int>(deadline_h * 3600 / step_s + 1e-9),
          .restart = steps(restart_min * 60),
          .on_demand_usd = on_demand_usd_per_hour * step_s / 3600,
          .spot_usd = spot_usd_per_hour * step_s / 3600};
}

double SpotQuestion::longest_deadline_h() const { return *std::max_element(deadlines_h.begin(), deadlines_h.end()); }

std::vector<std::vector<const ZoneSeries*>> SpotQuestion::tests_of(const SpotFold& fold) const {
  std::vector<std::vector<const ZoneSeries*>> all;
  for (const ZoneSeries& first : series) {
    if (first.zone != fold.test.front()) continue;
    std::vector<const ZoneSeries*> together;
    for (const std::string& zone : fold.test)
      for (const ZoneSeries& other : series)
        if (other.zone == zone && other.date == first.date &&
            static_cast<int>(other.up.size()) > terms(longest_deadline_h(), 0).deadline)
          together.push_back(&other);
    if (together.size() == fold.test.size()) all.push_back(std::move(together));
  }
  return all;
}

std::unique_ptr<StudyParameters> read_spot(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes) {
  SpotQuestion question{.work_h = in.number("work_h", sim::between(1, 200), 48),
                        .step_s = in.number("step_s", sim::between(10, 3600), 180)};
  question.on_demand_usd_per_hour = in.number("on_demand_usd_per_hour", {.low = 0, .high = 1e6, .low_excluded = true}, 3.06);
  question.spot_usd_per_hour =
      in.number("spot_usd_per_hour", {.low = 0, .high = 1e6, .low_excluded = true}, question.on_demand_usd_per_hour / 3.3);
  question.deadlines_h = read_numbers(in, "deadlines_h", sim::between(1, 1000), {52, 70}, mistakes);
  question.restarts_min = read_numbers(in, "restarts_min", sim::between(1, 600), {3, 12}, mistakes);
  question.jobs = static_cast<int>(in.integer("jobs", sim::between(1, 1e5), 60));
  question.ablations = in.boolean("ablations", false);
  question.bound = in.boolean("bound", false);
  for (const double deadline_h : question.deadlines_h) {
    for (const double restart_min : question.restarts_min) {
      const SpotTerms terms = question.terms(deadline_h, restart_min);
      if (terms.slack() < terms.restart)
        in.value().refuse("\"deadlines_h\" that on-demand nodes can keep after one restart", mistakes);
      else if (const double cells = static_cast<double>(terms.work + 1) * (terms.slack() + 1);
               cells > kMostCells || cells * terms.restart > kMostStartCells)
        in.value().refuse(
            fmt::format("work and slack of which the steps' product is at most {:.0f}, and with the restart's {:.0f}", kMostCells,
                        kMostStartCells),
            mistakes);
    }
  }
  const NodeKind kind{.gpu = in.text("gpu", "v100"), .gpus_per_node = in.integer("gpus_per_node", sim::between(1, 1e4), 1)};
  const double days = in.number("days", sim::between(1, 1000), 45);
  const auto file = in.child("table"), processes = in.child("processes");
  if (file.has_value() == processes.has_value()) in.value().refuse("one of \"table\" and \"processes\"", mistakes);
  if (processes) read_processes(*processes, days, scenario.seed, question, mistakes);
  if (file) read_series(*file, kind, paths, scenario, question, mistakes);
  question.folds = read_folds(in, question, mistakes);
  if (question.bound && mistakes.empty() &&
      (file ||
       std::any_of(question.folds.begin(), question.folds.end(), [](const SpotFold& fold) { return fold.test.size() > 1; })))
    in.value().refuse("\"bound\" with \"processes\", and folds that try one zone each", mistakes);
  for (const SpotFold& fold : question.folds) {
    if (!mistakes.empty()) break;
    for (const ZoneSeries& series : question.series) {
      if (std::count(fold.train.begin(), fold.train.end(), series.zone) == 0) continue;
      try {
        policies::ZoneProcess::fit(series.up);
      } catch (const sim::InputError&) {
        in.value().refuse(fmt::format("series of \"{}\" with whole runs, up and down", series.zone), mistakes);
        break;
      }
    }
  }
  if (!mistakes.empty()) return nullptr;
  return std::make_unique<Spot>(std::move(question));
}

}  // namespace rehearse::scenarios
