#include "tests/layering/rules.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace rehearse::tests {

const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"sim/base", {}},
      {"sim/read", {"sim/base"}},
      {"sim/write", {"sim/base"}},
      {"sim/cluster", {"sim/base"}},
      {"sim/engine", {"sim/base"}},
      {"sim/step", {"sim/base", "sim/cluster", "sim/engine"}},
      {"sim/replay", {"sim/base", "sim/cluster", "sim/engine", "sim/step"}},
      {"workloads", {"sim/base", "sim/cluster", "sim/engine", "sim/step", "sim/replay"}},
      {"policies", {"sim/base", "sim/cluster", "sim/engine", "sim/step", "sim/replay", "workloads"}},
      {"traces", {"sim/base", "sim/read", "sim/write", "sim/cluster", "sim/engine", "sim/step", "sim/replay", "workloads"}},
      {"report", {"sim/base", "sim/read", "sim/write", "sim/cluster", "sim/engine", "sim/step", "sim/replay"}},
      {"scenarios",
       {"sim/base", "sim/read", "sim/write", "sim/cluster", "sim/engine", "sim/step", "sim/replay", "workloads", "policies",
        "traces", "report"}},
      {"cli",
       {"sim/base", "sim/read", "sim/write", "sim/cluster", "sim/engine", "sim/step", "sim/replay", "workloads", "policies",
        "traces", "report", "scenarios"}},
  };
  return table;
}

const std::vector<Fenced>& fenced() {
  static const std::vector<Fenced> table = {
      {"simgrid/", "sim/engine"}, {"xbt/", "sim/engine"},  // SimGrid's tool box
      {"nlohmann/", "sim/read"},  {"CLI/", "cli"},        {"sqlite3.h", "scenarios"}, {"sqlite3.h", "scenarios"},
  };
  return table;
}

namespace {

bool is_under(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

const Room* room_of(std::string_view path) {
  const Room* best = nullptr;
  for (const Room& room : rooms())
    if (is_under(path, room.path) && (!best || room.path.size() > best->path.size())) best = &room;
  return best;
}

/// Whether a path begins with one of the house's top-level folders.
bool is_ours(std::string_view path) {
  const std::string_view top = path.substr(0, path.find('/'));
  return std::any_of(rooms().begin(), rooms().end(),
                     [&](const Room& room) { return room.path.substr(0, room.path.find('/')) == top; });
}

/// The rule that an include of `target` by a file of room `from` breaks.
std::optional<std::string> broken_rule(const Room& from, std::string_view target, bool quoted) {
  if (target.starts_with('/') || target.starts_with(".") || target.find("/../") != target.npos ||
      target.find("/./") != target.npos)
    return "a path is written from the repository's root, without ./ and ../";
  for (const Fenced& library : fenced())
    if (target.starts_with(library.prefix) && from.path != library.room)
      return "<" + std::string(library.prefix) + "...> belongs to " + std::string(library.room) + " alone";
  if (!is_ours(target)) {
    if (quoted) return "a header of ours is named from the repository's root, any other in <>";
    return std::nullopt;
  }
  const Room* to = room_of(target);
  if (!to) return "its folder is in no row of the table (tests/layering/rules.cpp)";
  if (to == &from || std::count(from.sees.begin(), from.sees.end(), to->path)) return std::nullopt;
  return std::string(from.path) + " may not see " + std::string(to->path);
}

/// What follows `#include` in a line, without leading space; nothing when the line is no include.
std::optional<std::string_view> included(std::string_view line) {
  const auto skip = [&](std::string_view token) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(token)) return false;
    line.remove_prefix(token.size());
    return true;
  };
  if (!(skip("#") && (skip("include_next") || skip("include") || skip("import")))) return std::nullopt;
  skip("");
  return line;
}

/// The file named in `"..."` or `<...>` at the beginning of an include's argument; nothing when there is none.
std::optional<std::string_view> named_file(std::string_view argument) {
  if (argument.empty() || (argument[0] != '"' && argument[0] != '<')) return std::nullopt;
  const auto end = argument.find(argument[0] == '"' ? '"' : '>', 1);
  if (end == argument.npos || end == 1) return std::nullopt;
  return argument.substr(1, end - 1);
}

}  // namespace

std::vector<std::string> broken_rules(std::string_view path, std::string_view text) {
  const Room* from = room_of(path);
  std::vector<std::string> broken;
  const auto report = [&](int line, std::string_view what, std::string_view rule) {
    broken.push_back(std::string(path) + ":" + std::to_string(line) + ": " + std::string(what) + ": " + std::string(rule));
  };
  if (!from) {
    report(1, "this file", "its folder is in no row of the table (tests/layering/rules.cpp)");
    return broken;
  }
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto argument = included(line);
    if (!argument) continue;
    const std::string what = "#include " + std::string(*argument);
    const auto file = named_file(*argument);
    if (!file) {
      report(number, what, "an include names its file");
    } else if (const auto rule = broken_rule(*from, *file, (*argument)[0] == '"')) {
      report(number, what, *rule);
    }
  }
  return broken;
}

}  // namespace rehearse::tests
