// Which of the readers a network's file is for: by what it holds, not by its name.
#include "traces/networks/network_file.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/graphs/graph_json.hpp"
#include "traces/networks/subject_json.hpp"
#include "traces/networks/torch_program.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

namespace {

constexpr std::size_t kMaxModelBytes = std::size_t{2} << 30;  // protobuf's own limit
constexpr std::size_t kHead = 4096;                           // in which JSON opens
constexpr std::string_view kNetworkFile =
    "a network: ONNX, Keras's model.to_json(), print(torch.export.export(model, (x,))), or layers (docs/guide/harness.md)";

workloads::Network costs_only(workloads::Network network) {
  network.only_costs = true;
  return network;
}

bool has(sim::JsonValue object, std::string_view key) {
  for (const sim::JsonMember m : object.members())
    if (m.key.text() == key) return true;
  return false;
}

NetworkOrGraph read_json(sim::JsonDocument document) {
  const sim::JsonValue root = document.root();
  if (has(root, "class_name")) return costs_only(read_keras(root));
  if (has(root, "layers")) return read_layers(root);
  if (has(root, "ops")) return read_graph(document);
  sim::Mistakes mistakes;
  const workloads::Structure structure = read_structure(root, mistakes);
  mistakes.throw_if_any();
  return std::visit([](const auto& s) { return make_network(s); }, structure);
}

bool opens_json(std::string_view bytes) {
  if (bytes.starts_with(sim::kByteOrderMark)) bytes.remove_prefix(sim::kByteOrderMark.size());
  const std::size_t at = bytes.find_first_not_of(" \t\r\n");
  return at != bytes.npos && (bytes[at] == '{' || bytes[at] == '[');
}

/// A TensorFlow SavedModel is a folder.
std::string file_of(const std::string& path) {
  const std::string saved = path + "/saved_model.pb";
  std::error_code none;
  return std::filesystem::exists(saved, none) ? saved : path;
}

}  // namespace

bool names_file(const std::string& text) {
  const bool is_model =
      std::ranges::any_of(workloads::zoo(), [&](const workloads::ZooEntry& entry) { return entry.name == text; });
  std::error_code none;
  return !is_model && (text.find_first_of("./") != text.npos || std::filesystem::exists(text, none));
}

bool holds_json(const std::string& path) {
  std::string head(kHead, '\0');
  head.resize(sim::ByteSource(file_of(path), kNetworkFile).read(head.data(), head.size()));
  return opens_json(head);
}

NetworkOrGraph read_network_or_graph(const std::string& path) {
  std::string bytes = sim::read_unpacked(file_of(path), kMaxModelBytes, kNetworkFile);
  const auto refuse = [&](std::string found) {
    throw sim::InputError({.file = path, .expected = std::string(kNetworkFile), .found = std::move(found)});
  };
  if (bytes.empty()) refuse("an empty file");
  if (opens_json(bytes)) return read_json(sim::parse_json(std::move(bytes), path));
  if (bytes.find('\0') != bytes.npos || bytes.front() == '\b')
    return costs_only(read_onnx(bytes, path));  // \b: version of its IR
  if (!is_torch_program(bytes)) refuse(sim::shown(bytes));
  return costs_only(read_torch(bytes, path));
}

workloads::Network read_network(const std::string& path) {
  NetworkOrGraph read = read_network_or_graph(path);
  if (workloads::Network* network = std::get_if<workloads::Network>(&read)) return std::move(*network);
  throw sim::InputError({.file = path,
                         .expected = std::string(kNetworkFile),
                         .found = "operations of one step, which rehearse graph shows: a training needs the layers"});
}

}  // namespace rehearse::traces
