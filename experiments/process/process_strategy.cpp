#include "experiments/process/process_strategy.hpp"

#include <unistd.h>

#include <filesystem>

#include "experiments/process/process_decisions.hpp"
#include "sim/io/file.hpp"

namespace rehearse::scenarios {

namespace {

constexpr const char* kProcess = "process";
constexpr sim::NumberRange kTimeouts{.low = 0.001, .high = 86'400};

/// Fingerprints of the scripts, models and tables that the process was started with.
void add_fingerprints(sim::JsonValue words, const std::string& folder, Scenario& scenario) {
  for (const sim::JsonValue word : words.elements()) {
    const std::string name(word.text());
    const std::string path = std::filesystem::path(folder) / name;  // the name alone where it is absolute
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) continue;
    if (access(path.c_str(), R_OK) != 0) continue;  // a program may be one that can be run and not read
    scenario.sha256_of_file[name] = sim::sha256_of_file(path);
  }
}

}  // namespace

std::unique_ptr<policies::Configure> ProcessStrategy::configure(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessConfigure>(settings_, inputs);
}

std::unique_ptr<sim::Place> ProcessStrategy::place(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessPlace>(settings_, inputs);
}

std::unique_ptr<sim::Threads> ProcessStrategy::threads(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessThreads>(settings_, inputs);
}

std::unique_ptr<sim::Queue> ProcessStrategy::queue(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessQueue>(settings_, inputs);
}

policies::StrategyChoice read_process(sim::JsonValue strategy, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::ObjectReader in(strategy, mistakes);
  ProcessSettings settings;
  const sim::JsonValue words = *in.child(kProcess);
  if (words.is_array() && words.size() == 0) words.refuse("a program and its arguments", mistakes);
  const std::size_t before = mistakes.size();
  for (const sim::JsonValue word : in.list(kProcess)) {
    settings.command.words.emplace_back(sim::read_text(word, mistakes));
    if (settings.command.words.back().find('\0') != std::string::npos) word.refuse("a text without NUL", mistakes);
  }
  settings.command.folder = words.mistake("").file == "--set" ? std::string() : paths.folder;
  settings.timeout_s = in.number("timeout_s", kTimeouts, settings.timeout_s);
  settings.command.sandbox = in.boolean("sandbox", false);
  in.finish();
  if (mistakes.size() == before && words.size() > 0) add_fingerprints(words, settings.command.folder, scenario);
  policies::StrategyChoice choice{.name = kProcess, .parameters = {}};
  choice.outside = std::make_shared<ProcessStrategy>(std::move(settings));
  return choice;
}

}  // namespace rehearse::scenarios
