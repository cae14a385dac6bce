#include "tests/layering/rules.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace rehearse::tests {

namespace {

/// A room, and the rooms it is built on.
struct Row {
  std::string_view path;
  std::vector<std::string_view> on;
};

const std::vector<Row> kRows = {
    {"sim/base", {}},
    {"sim/io", {"sim/base"}},
    {"sim/cluster", {"sim/base"}},
    {"sim/engine", {"sim/base"}},
    {"sim/step", {"sim/cluster", "sim/engine"}},
    {"sim/jobs", {"sim/step"}},
    {"sim/nodes", {"sim/jobs"}},
    {"sim/money", {"sim/nodes"}},
    {"sim/replay", {"sim/money"}},

    {"workloads/layers", {"sim/step"}},
    {"workloads/training", {"workloads/layers", "sim/jobs"}},
    {"workloads/steps", {"workloads/training", "sim/money"}},
    {"workloads/zoo", {"workloads/steps"}},
    {"workloads/tensorflow", {"workloads/zoo"}},
    {"workloads/calibration", {"workloads/tensorflow"}},
    {"workloads/world", {"workloads/steps"}},
    {"workloads/generate", {"workloads/calibration", "workloads/world"}},

    {"policies", {"sim/base"}},
    {"policies/learn/nn", {"sim/base"}},
    {"policies/learn", {"workloads/calibration"}},
    {"policies/harness", {"policies/learn", "workloads/generate"}},
    {"policies/configure", {"policies/harness", "sim/replay"}},
    {"policies/place", {"sim/replay"}},
    {"policies/place/methods", {"policies/place"}},
    {"policies/place/rl", {"policies/place/methods", "policies/learn/nn"}},
    {"policies/threads", {"sim/replay", "workloads/zoo"}},
    {"policies/queue", {"policies", "sim/replay"}},
    {"policies/staged/spot", {"sim/base"}},
    {"policies/staged",
     {"policies/configure", "policies/place", "policies/threads", "policies/learn/nn", "policies/staged/spot"}},
    {"policies/registry", {"policies/staged", "policies/place/rl", "policies/queue"}},
    {"policies/search", {"policies/registry"}},

    {"traces/jobs", {"sim/io", "workloads/steps"}},
    {"traces/graphs", {"sim/io", "sim/step"}},
    {"traces/networks", {"traces/graphs", "workloads/calibration"}},
    {"traces/measurements", {"traces/jobs", "traces/networks"}},
    {"traces/histories", {"traces/measurements"}},
    {"traces/nodes", {"traces/jobs"}},
    {"traces/architectures", {"sim/io", "workloads/layers"}},
    {"deploy", {"sim/io", "workloads/zoo"}},
    {"report", {"sim/io", "sim/replay"}},
    {"report/plots", {"report"}},

    {"scenarios/read", {"policies/registry", "traces/histories", "traces/networks", "traces/nodes", "report"}},
    {"experiments/process", {"scenarios/read"}},
    {"experiments/run", {"experiments/process"}},
    {"experiments/studies",
     {"experiments/run", "policies/search", "policies/staged/spot", "traces/graphs", "traces/architectures", "report/plots"}},
    {"experiments", {"experiments/studies"}},
    {"experiments/sweep", {"experiments", "deploy"}},
    {"experiments/regress", {"experiments"}},
    {"experiments/train", {"experiments/studies"}},
    {"cli", {"experiments/sweep", "experiments/regress", "experiments/train"}},
};

/// Which libraries' headers belong to which rooms, or files: those that include one, and no others.
const std::vector<Fenced> kFenced = {
    {"simgrid/", {"sim/engine"}},
    {"xbt/", {}},  // SimGrid's tool box: nobody needs it
    {"nlohmann/", {"sim/io"}},
    {"zlib.h", {"sim/io", "report"}},  // report: what its page unpacks
    {"lzma.h", {"sim/io"}},
    {"sha2.h", {"sim/io"}},
    {"yaml.h", {"sim/io"}},
    {"coin/", {"policies/queue", "policies/place/methods"}},
    {"pagmo/", {"policies/search"}},
    {"metis.h", {"policies/place/methods"}},
    {"scotch.h", {"policies/place/methods"}},
    {"onnx/", {"traces/networks/onnx_model.cpp"}},
    {"sqlite3.h", {"experiments/sweep"}},
    {"SQLiteCpp/", {"experiments/sweep"}},
    {"boost/graph/", {"policies/learn", "policies/place"}},
    {"boost/math/", {"sim/base"}},
    {"Eigen/",
     {"sim/base", "workloads/calibration", "policies/learn", "policies/learn/nn", "policies/harness", "policies/queue",
      "policies/threads", "cli"}},  // cli: the block sizes of products, set once
    {"CLI/", {"cli/options.cpp"}},
};

}  // namespace

const std::vector<Room>& rooms() {
  static const std::vector<Room> table = [] {
    std::vector<Room> closed;
    for (const Row& row : kRows) {
      Room room{row.path, {}};
      const auto add = [&room](std::string_view seen) {
        if (std::count(room.sees.begin(), room.sees.end(), seen) == 0) room.sees.push_back(seen);
      };
      for (const std::string_view below : row.on) {
        add(below);
        for (const Room& other : closed)
          if (other.path == below) std::for_each(other.sees.begin(), other.sees.end(), add);
      }
      closed.push_back(std::move(room));
    }
    return closed;
  }();
  return table;
}

const std::vector<Fenced>& fenced() { return kFenced; }

namespace {

const Room* room_of(std::string_view path) {
  const std::string_view folder = path.substr(0, std::min(path.rfind('/'), path.size()));
  for (const Room& room : rooms())
    if (room.path == folder) return &room;
  return nullptr;
}

/// Whether a path begins with one of the house's top-level folders.
bool is_ours(std::string_view path) {
  const std::string_view top = path.substr(0, path.find('/'));
  return std::any_of(rooms().begin(), rooms().end(),
                     [&](const Room& room) { return room.path.substr(0, room.path.find('/')) == top; });
}

/// The rule that an include of `target` by the file `path` of room `from` breaks.
std::optional<std::string> broken_rule(std::string_view path, const Room& from, std::string_view target, bool quoted) {
  if (target.starts_with('/') || target.starts_with(".") || target.find("/../") != target.npos ||
      target.find("/./") != target.npos)
    return "a path is written from the repository's root, without ./ and ../";
  for (const Fenced& library : fenced())
    if (target.starts_with(library.prefix) &&
        std::none_of(library.owners.begin(), library.owners.end(),
                     [&](std::string_view owner) { return owner == from.path || owner == path; })) {
      std::string owners;
      for (const std::string_view owner : library.owners) owners += (owners.empty() ? "" : ", ") + std::string(owner);
      return "<" + std::string(library.prefix) + "...> belongs to " + (owners.empty() ? "nobody" : owners + " alone");
    }
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
    } else if (const auto rule = broken_rule(path, *from, *file, (*argument)[0] == '"')) {
      report(number, what, *rule);
    }
  }
  return broken;
}

}  // namespace rehearse::tests
