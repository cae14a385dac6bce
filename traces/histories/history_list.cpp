#include "traces/histories/history_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/trace_job.hpp"
#include "workloads/training/recipes.hpp"

namespace rehearse::traces {

namespace {

void count(std::vector<ImportReason>& reasons, const sim::Mistake& mistake, std::int64_t line) {
  auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const ImportReason& r) {
    return r.column == mistake.pointer && r.expected == mistake.expected;
  });
  if (reason == reasons.end()) reason = reasons.insert(reason, {.column = mistake.pointer, .expected = mistake.expected});
  ++reason->rows;
  if (reason->examples.size() < ImportReason::kMostExamples)
    reason->examples.push_back({.line = line, .found = mistake.found, .nearest = mistake.nearest});
}

}  // namespace

HistoryCollector::HistoryCollector(std::string file) {
  list_.report.sha256 = sim::sha256_of_file(file);
  list_.report.file = std::move(file);
}

void HistoryCollector::drop(const std::vector<sim::Mistake>& mistakes, std::int64_t line) {
  ++list_.report.rows;
  ++list_.report.rows_dropped;
  count(list_.report.dropped, mistakes.front(), line);
}

void HistoryCollector::add(workloads::PastRun run, std::int64_t line, const std::optional<sim::Mistake>& repaired) {
  if (const std::vector<sim::Mistake> mistakes = mistakes_in(run); !mistakes.empty()) return drop(mistakes, line);
  if (!rows_.insert(native_history_row(run)).second)
    return drop({{.expected = "a run that was not given before, the same in every column"}}, line);
  ++list_.report.rows;
  ++list_.report.jobs;
  if (repaired) count(list_.report.repaired, *repaired, line);
  list_.runs.push_back(std::move(run));
}

HistoryList HistoryCollector::finish() {
  if (!list_.runs.empty()) return std::move(list_);
  const ImportReport& report = list_.report;
  sim::Mistake mistake{.file = report.file, .line = 1, .expected = "at least one past run"};
  if (!report.dropped.empty()) {
    mistake.line = report.dropped.front().examples.front().line;
    mistake.pointer = report.dropped.front().column;
    mistake.expected += ": " + report.dropped.front().expected;
    mistake.found = report.dropped.front().examples.front().found;
  }
  throw sim::InputError(std::move(mistake));
}

namespace {

using workloads::PastRun;

constexpr const char* kPrecision = "precision";
constexpr const char* kLrRule = "lr_rule";

/// One of the names, whose index is the enumerator's value; what is not said is as a job's.
template <class Enum>
Enum read_choice(sim::CsvRow& row, std::string_view column, std::span<const std::string> names, Enum fallback) {
  if (!row.has(column)) return fallback;
  const auto name = std::find(names.begin(), names.end(), row.text(column));
  if (name != names.end()) return static_cast<Enum>(name - names.begin());
  row.refuse(column, fmt::format("{}", fmt::join(names, " or ")));
  return fallback;
}

template <class Enum>
const std::string& name_of(std::span<const std::string> names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

PastRun read_run(sim::CsvRow& row) {
  const auto flag = [&](std::string_view column) { return row.integer(column, sim::between(0, 1), 0) == 1; };
  return {.model = std::string(row.text("model")),
          .dataset = std::string(row.text("dataset")),
          .precision = read_choice(row, kPrecision, precision_names(), sim::Profile().precision),
          .lr_rule = read_choice(row, kLrRule, lr_rule_names(), sim::Profile().lr_rule),
          .max_accumulation = static_cast<int>(row.integer("max_accumulation", kAccumulations, 1)),
          .recipe = std::string(row.text("recipe")),
          .instance = std::string(row.text("instance")),
          .workers = static_cast<int>(row.integer("workers", sim::between(1, 1e6))),
          .batch_size = row.number("batch_size", sim::above(0)),
          .samples = row.number("samples", sim::above(0)),
          .epochs = row.number("epochs", sim::above(0)),
          .time_s = row.number("time_s", sim::above(0)),
          .accuracy = row.number("accuracy", sim::between(0, 1)),
          .asynchronous = flag("asynchronous"),
          .target_accuracy = row.number("target_accuracy", {.low = 0, .high = 1, .low_excluded = true}, 0.0),
          .censored = flag("censored"),
          .servers = static_cast<int>(row.integer("servers", sim::between(0, 1e6), 0)),
          .learning_rate = row.number("learning_rate", sim::above(0), 0.0),
          .price_usd_per_hour = row.number("price_usd_per_hour", sim::above(0), std::nan(""))};
}

}  // namespace

HistoryList read_native_history(const std::string& path, std::span<const std::string> own_recipes) {
  std::vector<std::string> recipes(own_recipes.begin(), own_recipes.end());
  for (const workloads::Recipe& recipe : workloads::recipes()) recipes.push_back(recipe.name);
  sim::CsvReader csv(
      path, {.required = {"model", "dataset", "instance", "workers", "batch_size", "samples", "epochs", "time_s", "accuracy"},
             .optional = {kPrecision, kLrRule, "max_accumulation", "recipe", "target_accuracy", "asynchronous", "censored",
                          "servers", "learning_rate", "price_usd_per_hour"},
             .others_allowed = false});
  HistoryList list{.report = {.file = path}};
  for (const auto& [column, assumed] : {std::pair{kPrecision, name_of(precision_names(), sim::Profile().precision)},
                                        std::pair{kLrRule, name_of(lr_rule_names(), sim::Profile().lr_rule)}})
    if (!csv.has_column(column))
      list.report.notes.push_back(fmt::format("without column {}: all runs count as {}", column, assumed));
  sim::Mistakes mistakes;
  while (sim::CsvRow* row = csv.next()) {
    ++list.report.rows;
    PastRun run = read_run(*row);
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    const bool is_recipe = run.recipe.empty() || std::ranges::find(recipes, run.recipe) != recipes.end();
    if (!is_recipe)
      mistakes.add({.file = path,
                    .line = row->line(),
                    .pointer = "recipe",
                    .expected = "a recipe (rehearse list recipes, or the scenario's own), or nothing",
                    .found = sim::shown(run.recipe),
                    .nearest = sim::nearest_name(run.recipe, recipes)});
    if (!row->mistakes().empty() || !is_recipe) continue;
    for (sim::Mistake& mistake : mistakes_in(run)) {  // a name that is missing
      mistake.file = path;
      mistake.line = row->line();
      mistakes.add(std::move(mistake));
    }
    list.runs.push_back(std::move(run));
  }
  if (list.report.rows == 0) mistakes.add({.file = path, .line = 1, .expected = "at least one past run"});
  mistakes.throw_if_any();
  list.report.jobs = list.report.rows;
  list.report.sha256 = sim::sha256_of_file(path);
  return list;
}

std::string native_history_header() {
  return "model,dataset,precision,lr_rule,instance,workers,batch_size,samples,epochs,time_s,accuracy,"
         "asynchronous,censored,servers,learning_rate,price_usd_per_hour\n";
}

std::string native_history_row(const PastRun& run) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:d},{:d},{},{},{}\n", sim::csv_text(run.model),
                     sim::csv_text(run.dataset), name_of(precision_names(), run.precision), name_of(lr_rule_names(), run.lr_rule),
                     sim::csv_text(run.instance), run.workers, run.batch_size, run.samples, run.epochs, run.time_s, run.accuracy,
                     run.asynchronous, run.censored, run.servers,
                     run.learning_rate > 0 ? fmt::format("{}", run.learning_rate) : "",
                     std::isnan(run.price_usd_per_hour) ? "" : fmt::format("{}", run.price_usd_per_hour));
}

namespace {

constexpr HistoryFormat kHistoryFormats[] = {
    {"native", "our own: CSV, a row a run", "", [](const std::string& path) { return read_native_history(path); }},
    {"trimtuner", "cnn.csv of TrimTuner (MASCOTS 2020): parameter servers on t2 machines",
     "download dataset_NN_Tensorflow/cnn.csv of github.com/pedrogbmendes/TrimTuner", read_trimtuner_history},
};

}  // namespace

std::span<const HistoryFormat> history_formats() { return kHistoryFormats; }

}  // namespace rehearse::traces
