#include "traces/histories/history_list.hpp"

#include <algorithm>

#include "sim/io/file.hpp"
#include "traces/histories/native.hpp"

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

}  // namespace rehearse::traces
