// Loading scenarios from texts, and what the loader says about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/load.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

/// What the loader says, a line for each mistake, with the folder's name left out; empty when it accepts.
inline std::string complaints_about(const TemporaryFolder& folder, const std::string& path,
                                    const rehearse::scenarios::LoadOptions& options = {}) {
  std::string text;
  try {
    rehearse::scenarios::load_scenario(path, options);
  } catch (const rehearse::sim::InputError& error) {
    text = error.what();
  }
  const std::string prefix = folder.path() + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) text.erase(at, prefix.size());
  return text;
}

/// Of a scenario's text, in a file named s.json.
inline std::string complaints(const TemporaryFolder& folder, std::string_view text,
                              const std::vector<rehearse::scenarios::Override>& overrides = {}) {
  return complaints_about(folder, folder.write("s.json", text), {.overrides = overrides});
}

/// `text` with the one place where it says `what` changed.
inline std::string with(std::string text, std::string_view what, std::string_view instead) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos || text.find(what, at + 1) != std::string::npos)
    throw std::invalid_argument("not in the text exactly once: " + std::string(what));
  return text.replace(at, what.size(), instead);
}
