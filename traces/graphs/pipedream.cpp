// PipeDream's profiles: "nodeN -- LAYER -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES,
// parameter_size=BYTES", where a layer with several outputs has "[A; B]" for its activations, and "<tab>nodeN -- nodeM" for
// edges.
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"
#include "traces/graphs/profiled_graph.hpp"

namespace rehearse::traces {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
constexpr std::string_view kSeparator = " -- ";
constexpr std::string_view kNodeForm =
    "NODE -- LAYER -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES, parameter_size=BYTES";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Hands out the pieces between separators.
template <class Visit>
void for_each_piece(std::string_view text, char separator, Visit visit) {
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
    end = text.find(separator);
    visit(trimmed(text.substr(0, end)));
  }
}

std::optional<double> number(std::string_view text) {
  double x = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  const bool whole = error == std::errc{} && rest == text.data() + text.size();
  return whole && sim::between(0, 1e18).contains(x) ? std::optional(x) : std::nullopt;
}

/// A number, or the sum of "[A; B; ...]".
std::optional<double> total(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return number(text);
  std::optional<double> sum = 0;
  for_each_piece(text.substr(1, text.size() - 2), ';', [&](std::string_view part) {
    const auto x = number(part);
    sum = sum && x ? std::optional(*sum + *x) : std::nullopt;
  });
  return sum;
}

struct Node {
  std::string name, layer;
  std::map<std::string, double, std::less<>> values;
  double value(std::string_view key) const { return values.find(key)->second; }
};

class Profile {
 public:
  explicit Profile(const std::string& path) : file_(path) {
    const std::string text = sim::read_file(path, kMostFileBytes);
    std::int64_t line = 0;
    for_each_line(text, [&](std::string_view content) {
      ++line;
      if (!trimmed(content).empty()) content.starts_with('\t') ? add_edge(content, line) : add_node(content, line);
    });
    connect();
    mistakes_.throw_if_any();
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::pair<int, int>>& edges() const { return edges_; }

 private:
  struct Given {
    std::string from, to;
    std::int64_t line;
  };

  template <class Visit>
  static void for_each_line(std::string_view text, Visit visit) {
    for (std::size_t end = 0; !text.empty(); text.remove_prefix(std::min(end, text.size()))) {
      end = text.find('\n');
      visit(text.substr(0, end));
      end = end == text.npos ? text.size() : end + 1;
    }
  }

  void refuse(std::int64_t line, std::string_view expected, std::string_view found) {
    mistakes_.add({.file = file_, .line = line, .expected = std::string(expected), .found = sim::shown(found)});
  }

  void add_node(std::string_view text, std::int64_t line) {
    const std::size_t first = text.find(kSeparator), last = text.rfind(kSeparator);
    if (first == text.npos || first == last) return refuse(line, kNodeForm, text);
    Node node{std::string(trimmed(text.substr(0, first))),
              std::string(trimmed(text.substr(first + kSeparator.size(), last - first - kSeparator.size()))),
              {}};
    for_each_piece(text.substr(last + kSeparator.size()), ',', [&](std::string_view pair) {
      const std::size_t equals = pair.find('=');
      const auto x = equals == pair.npos ? std::nullopt : total(pair.substr(equals + 1));
      if (!x) return refuse(line, "KEY=VALUE with a value of at least 0", pair);
      node.values.emplace(pair.substr(0, equals), *x);
    });
    for (const char* key : {"forward_compute_time", "backward_compute_time", "activation_size", "parameter_size"})
      if (!node.values.contains(key)) {
        refuse(line, kNodeForm, text);
        node.values.emplace(key, 0);
      }
    if (!by_name_.emplace(node.name, static_cast<int>(nodes_.size())).second)
      refuse(line, "a node that no line before has", node.name);
    nodes_.push_back(std::move(node));
  }

  void add_edge(std::string_view text, std::int64_t line) {
    const std::size_t separator = text.find(kSeparator);
    if (separator == text.npos) return refuse(line, "NODE -- NODE", trimmed(text));
    given_.push_back({std::string(trimmed(text.substr(0, separator))),
                      std::string(trimmed(text.substr(separator + kSeparator.size()))), line});
  }

  void connect() {
    for (const Given& edge : given_) {
      const auto from = by_name_.find(edge.from), to = by_name_.find(edge.to);
      if (from == by_name_.end()) refuse(edge.line, "a node of this file", edge.from);
      if (to == by_name_.end()) refuse(edge.line, "a node of this file", edge.to);
      if (from != by_name_.end() && to != by_name_.end()) edges_.emplace_back(from->second, to->second);
    }
  }

  std::string file_;
  std::vector<Node> nodes_;
  std::map<std::string, int> by_name_;
  std::vector<Given> given_;
  std::vector<std::pair<int, int>> edges_;
  sim::Mistakes mistakes_;
};

std::string type_of(const std::string& layer) { return layer.substr(0, layer.find('(')); }

ProfiledOp op_of(const Node& node, int index, bool backward, const PipedreamOptions& options) {
  ProfiledOp op;
  op.name = node.name + (backward ? "/gradient" : "");
  op.type = type_of(node.layer);
  op.id = index;
  op.backward = backward;
  op.colour = index;
  op.accelerator_s = kMillisecond * node.value(backward ? "backward_compute_time" : "forward_compute_time");
  op.cpu_s = kCpuSlowdown * op.accelerator_s;
  const double copies = options.training ? 2 + options.slots : 1;  // parameters, gradients and what the optimiser keeps
  if (!backward) op.resident_bytes = copies * node.value("parameter_size");
  return op;
}

/// The gradient of a node follows those of its readers, and reads the node's inputs again.
void add_backward(const Profile& profile, const PipedreamOptions& options, ProfiledGraph& graph) {
  const int count = static_cast<int>(profile.nodes().size());
  for (int i = 0; i < count; ++i) graph.ops.push_back(op_of(profile.nodes()[i], i, true, options));
  std::vector<bool> has_reader(profile.nodes().size());
  for (const auto& [from, to] : profile.edges()) {
    const double bytes = profile.nodes()[from].value("activation_size");
    has_reader[from] = true;
    graph.edges.push_back({count + to, count + from, bytes});
    graph.edges.push_back({from, count + to, bytes});
  }
  for (int i = 0; i < count; ++i)
    if (!has_reader[i]) graph.edges.push_back({i, count + i, profile.nodes()[i].value("activation_size")});
}

}  // namespace

ProfiledGraph read_pipedream_graph(const std::string& path, const PipedreamOptions& options) {
  const Profile profile(path);
  ProfiledGraph graph;
  graph.name = std::filesystem::path(path).stem().stem().string();
  for (std::size_t i = 0; i < profile.nodes().size(); ++i)
    graph.ops.push_back(op_of(profile.nodes()[i], static_cast<int>(i), false, options));
  for (const auto& [from, to] : profile.edges())
    graph.edges.push_back({from, to, profile.nodes()[from].value("activation_size")});
  require_joined(graph, path);
  if (options.training) add_backward(profile, options, graph);
  order_forward(graph, path);
  return graph;
}

}  // namespace rehearse::traces
