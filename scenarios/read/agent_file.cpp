#include "scenarios/read/agent_file.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/row_writer.hpp"
#include "scenarios/read/embedded.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/seal.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

using policies::NamedMatrix;
using policies::NamedShape;

constexpr std::string_view kVersionKey = "rehearse_network";

std::string text_of(policies::Shape shape) { return fmt::format("{} x {}", shape.rows, shape.columns); }

class AgentReader {
 public:
  AgentReader(const policies::NetworkBlueprint& expected, sim::Mistakes& mistakes) : expected_(expected), mistakes_(mistakes) {
    for (const NamedShape& matrix : expected.matrices) names_.push_back(matrix.name);
  }

  policies::NetworkState read(sim::JsonValue root) {
    sim::ObjectReader object(root, mistakes_);
    const double version = object.number(kVersionKey);
    if (mistakes_.empty() && version != policies::kNetworkVersion)
      object.child(kVersionKey)
          ->refuse(fmt::format("version {}, the one that this program reads", policies::kNetworkVersion), mistakes_);
    mistakes_.throw_if_any();  // the keys of other files and versions mean something else

    policies::NetworkState state;
    state.origin.kind = object.text("kind");
    if (mistakes_.empty() && state.origin.kind != expected_.kind)
      object.child("kind")->refuse(fmt::format("\"{}\", the kind of network that is needed here", expected_.kind), mistakes_);
    mistakes_.throw_if_any();
    state.origin.seed = static_cast<std::uint64_t>(object.integer("seed", sim::at_least(0)));
    state.origin.command = object.text("command");
    state.origin.version = object.text("version", state.origin.version);
    object.text("sha256", std::string());  // of a file that another program has written anew
    object.required("parameters", "a list of matrices");
    for (const sim::JsonValue value : object.list("parameters")) read_matrix(value, state.matrices);
    object.finish();
    if (const auto list = object.child("parameters"); list && list->is_array()) report_missing(*list, state.matrices);
    return in_order(std::move(state));
  }

 private:
  void read_matrix(sim::JsonValue value, std::vector<NamedMatrix>& matrices) {
    sim::ObjectReader object(value, mistakes_);
    const auto name = object.required("name", "a matrix of the network");
    const auto shape = object.required("shape", "[rows, columns]");
    const auto numbers = object.required("numbers", "a list of numbers");
    object.finish();
    if (!name || !shape || !numbers) return;
    const std::size_t errors = mistakes_.size();
    const std::size_t index = sim::read_choice(*name, names_, mistakes_);
    if (mistakes_.size() != errors) return;
    const NamedShape& expected = expected_.matrices[index];
    if (std::any_of(matrices.begin(), matrices.end(), [&](const NamedMatrix& m) { return m.is.name == expected.name; }))
      return name->refuse("each matrix once", mistakes_);
    matrices.push_back({.is = expected});
    if (read_shape(*shape, expected.shape)) read_numbers(*numbers, matrices.back());
  }

  bool read_shape(sim::JsonValue value, policies::Shape expected) {
    std::vector<double> sizes;
    for (const sim::JsonValue size : value.elements())
      if (size.is_number()) sizes.push_back(size.number());
    if (value.size() == 2 && sizes == std::vector{static_cast<double>(expected.rows), static_cast<double>(expected.columns)})
      return true;
    mistakes_.add_from([&] {
      sim::Mistake mistake = value.mistake(fmt::format("[{}, {}], the shape in this network", expected.rows, expected.columns));
      if (value.size() == 2 && sizes.size() == 2) mistake.found = fmt::format("[{}, {}]", sizes[0], sizes[1]);
      return mistake;
    });
    return false;
  }

  void read_numbers(sim::JsonValue value, NamedMatrix& into) {
    const auto count = static_cast<std::size_t>(into.is.shape.rows * into.is.shape.columns);
    if (value.is_array() && value.size() != count) {
      mistakes_.add_from([&] {
        sim::Mistake mistake = value.mistake(fmt::format("{} numbers ({})", count, text_of(into.is.shape)));
        mistake.found = fmt::format("a list of {}", value.size());
        return mistake;
      });
      return;
    }
    into.numbers.reserve(count);
    for (const sim::JsonValue number : sim::read_list(value, mistakes_))
      into.numbers.push_back(sim::read_number(number, {}, mistakes_));
  }

  void report_missing(sim::JsonValue list, const std::vector<NamedMatrix>& found) {
    if (!mistakes_.empty()) return;  // a matrix with a mistake is not missing
    for (const NamedShape& expected : expected_.matrices) {
      if (std::any_of(found.begin(), found.end(), [&](const NamedMatrix& m) { return m.is.name == expected.name; })) continue;
      sim::Mistake mistake = list.mistake(fmt::format("the matrix \"{}\" ({})", expected.name, text_of(expected.shape)));
      mistake.found = "none of that name";
      mistakes_.add(std::move(mistake));
    }
  }

  policies::NetworkState in_order(policies::NetworkState state) const {
    const auto place = [&](const NamedMatrix& m) { return std::find(names_.begin(), names_.end(), m.is.name); };
    std::sort(state.matrices.begin(), state.matrices.end(),
              [&](const NamedMatrix& a, const NamedMatrix& b) { return place(a) < place(b); });
    return state;
  }

  const policies::NetworkBlueprint& expected_;
  sim::Mistakes& mistakes_;
  std::vector<std::string> names_;
};

policies::NetworkState read_document(const sim::JsonDocument& document, const policies::NetworkBlueprint& expected) {
  sim::Mistakes mistakes;
  policies::NetworkState state = AgentReader(expected, mistakes).read(document.root());
  mistakes.throw_if_any();
  return state;
}

}  // namespace

policies::NetworkState parse_agent(std::string text, std::string file, const policies::NetworkBlueprint& expected) {
  return read_document(sim::parse_json(std::move(text), std::move(file)), expected);
}

policies::NetworkState read_agent_file(const std::string& path, const policies::NetworkBlueprint& expected) {
  std::string text = sim::unsealed(sim::read_file(path, sim::kMaxJsonBytes), path,
                                   "rehearse train makes it again; without its member \"sha256\" it is used as it is");
  return parse_agent(std::move(text), path, expected);
}

std::string agent_text(const policies::NetworkState& state) {
  const auto& [kind, seed, command, version] = state.origin;
  sim::check(static_cast<double>(seed) < sim::kIntegerLimit && !kind.empty() && !command.empty() && sim::is_utf8(command),
             "a network's origin that JSON can hold");
  fmt::memory_buffer out;
  const auto add = [&](auto format, const auto&... values) { fmt::format_to(std::back_inserter(out), format, values...); };
  add(FMT_COMPILE(
          "{{\n  \"{}\": {},\n  \"kind\": {},\n  \"seed\": {},\n  \"command\": {},\n  \"version\": {},\n  \"parameters\": ["),
      kVersionKey, policies::kNetworkVersion, report::json_string(kind), seed, report::json_string(command),
      report::json_string(version));
  for (const NamedMatrix& m : state.matrices) {
    add(FMT_COMPILE("{}\n    {{\"name\": {}, \"shape\": [{}, {}], \"numbers\": ["), &m == &state.matrices[0] ? "" : ",",
        report::json_string(m.is.name), m.is.shape.rows, m.is.shape.columns);
    for (std::size_t i = 0; i < m.numbers.size(); ++i) {
      sim::check(std::isfinite(m.numbers[i]), "a network's numbers are finite");
      add(FMT_COMPILE("{}{}"), i == 0 ? "" : ", ", m.numbers[i]);
      if (m.numbers[i] == 0 && std::signbit(m.numbers[i])) add(FMT_COMPILE(".0"));  // "-0" would be read as an integer, 0
    }
    add(FMT_COMPILE("]}}"));
  }
  add(FMT_COMPILE("\n  ]\n}}"));
  return fmt::to_string(out);
}

void write_agent_file(const std::string& path, const policies::NetworkState& state) {
  sim::write_file(path, sim::sealed(agent_text(state) + "\n"));
}

std::shared_ptr<const policies::NetworkState> read_agent(sim::JsonValue value, const AgentReading& reading,
                                                         const policies::StrategyChoice& choice,
                                                         const policies::NetworkBlueprint& expected) {
  try {
    if (!choice.parameters.contains("agent")) {
      const std::string file = agent_of(expected.kind);
      return std::make_shared<policies::NetworkState>(parse_agent(std::string(embedded_file(file)), file, expected));
    }
    const sim::JsonValue named = *sim::ObjectReader(value, reading.mistakes).child("agent");
    const std::string path = reading.paths.resolve(named, reading.mistakes);
    if (path.empty()) return nullptr;
    auto network = std::make_shared<policies::NetworkState>(read_agent_file(path, expected));
    reading.scenario.sha256_of_file[std::string(named.text())] = sim::sha256_of_file(path);
    return network;
  } catch (const sim::InputError& error) {
    add_at(value, error, reading.mistakes);
    return nullptr;
  }
}

}  // namespace rehearse::scenarios
