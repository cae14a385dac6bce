// A study run into a folder, and what it left there.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "experiments/load.hpp"
#include "experiments/studies/study.hpp"
#include "tests/scenarios/loading.hpp"

namespace rehearse::tests {

struct StudyRun {
  report::StudySummary summary;
  std::map<std::string, std::string> files;  ///< texts by name
  bool failed = false;

  const report::Table& table(const std::string& name) const {
    for (const report::Table& table : summary.tables)
      if (table.name == name) return table;
    throw std::invalid_argument("no table " + name);
  }
};

inline StudyRun run_text(const TemporaryFolder& folder, std::string_view text, int processes = 2) {
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  const std::string out = folder.path() + "/out";
  StudyRun run;
  run.summary = scenarios::run_study(*scenario, {.out = out, .processes = processes}, run.failed);
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    std::ostringstream content;
    content << std::ifstream(entry.path()).rdbuf();
    run.files[entry.path().filename()] = content.str();
  }
  return run;
}

/// A cell by its column's name.
inline const report::Cell& cell(const report::Table& table, const std::vector<report::Cell>& row, std::string_view column) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].name == column) return row[c];
  throw std::invalid_argument("no column " + std::string(column));
}
inline double number(const report::Table& table, const std::vector<report::Cell>& row, std::string_view column) {
  return std::get<double>(cell(table, row, column));
}
inline const std::string& text(const report::Table& table, const std::vector<report::Cell>& row, std::string_view column) {
  return std::get<std::string>(cell(table, row, column));
}

}  // namespace rehearse::tests
