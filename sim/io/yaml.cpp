// libyaml's events become a JSON text in which every token stands on the line that it has in the YAML file.
#include "sim/io/yaml.hpp"

#include <fmt/format.h>
#include <yaml.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "sim/io/file.hpp"
#include "sim/io/json_tree.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

namespace {

/// A plain scalar as JSON: null, true, false, a number of the core schema, else a text.
std::string plain_scalar(std::string_view text) {
  const auto is_any = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  if (is_any({"", "~", "null", "Null", "NULL"})) return "null";
  if (is_any({"true", "True", "TRUE"})) return "true";
  if (is_any({"false", "False", "FALSE"})) return "false";
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && std::isfinite(number) &&
                         digits.find_first_not_of(kNumberCharacters) == digits.npos && !digits.starts_with('+');
  return is_number ? fmt::format("{}", number) : json_string(text);
}

class YamlReader {
 public:
  YamlReader(std::string_view text, const std::string& file) : file_(file) {
    sim::check(yaml_parser_initialize(&parser_) == 1, "no memory for a parser");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  ~YamlReader() { yaml_parser_delete(&parser_); }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  std::string json() {
    for (bool more = true; more;) more = take();
    if (json_.find_first_not_of('\n') == json_.npos) json_ += "null";  // nothing, or comments alone
    return std::move(json_);
  }

 private:
  /// What is open: whether it is a map, and how many nodes it has.
  struct Open {
    bool is_map;
    std::size_t nodes = 0;
  };

  [[noreturn]] void refuse(std::size_t line, std::string expected, std::string found) const {
    throw InputError(
        {.file = file_, .line = static_cast<std::int64_t>(line) + 1, .expected = std::move(expected), .found = std::move(found)});
  }

  bool take() {
    yaml_event_t event;
    if (yaml_parser_parse(&parser_, &event) != 1)
      refuse(parser_.problem_mark.line, "YAML", fmt::format("{}", parser_.problem != nullptr ? parser_.problem : "none"));
    struct Deleted {
      yaml_event_t& event;
      ~Deleted() { yaml_event_delete(&event); }
    } const deleted{event};
    const std::size_t line = event.start_mark.line;
    switch (event.type) {
      case YAML_STREAM_END_EVENT:
        return false;
      case YAML_DOCUMENT_START_EVENT:
        if (++documents_ > 1) refuse(line, "one document", "another one");
        break;
      case YAML_ALIAS_EVENT:
        refuse(line, "no aliases", fmt::format("*{}", printable(reinterpret_cast<const char*>(event.data.alias.anchor))));
      case YAML_SCALAR_EVENT:
        plain(line, event.data.scalar.anchor, event.data.scalar.tag);
        scalar(line, event);
        break;
      case YAML_SEQUENCE_START_EVENT:
        plain(line, event.data.sequence_start.anchor, event.data.sequence_start.tag);
        open(line, false);
        break;
      case YAML_MAPPING_START_EVENT:
        plain(line, event.data.mapping_start.anchor, event.data.mapping_start.tag);
        open(line, true);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        json_ += open_.back().is_map ? '}' : ']';
        open_.pop_back();
        break;
      default:
        break;
    }
    return true;
  }

  void plain(std::size_t line, const yaml_char_t* anchor, const yaml_char_t* tag) const {
    if (anchor != nullptr) refuse(line, "no anchors", fmt::format("&{}", printable(reinterpret_cast<const char*>(anchor))));
    if (tag != nullptr) refuse(line, "no tags", printable(reinterpret_cast<const char*>(tag)));
  }

  /// Before each node: what parts it from the one before, and the line ends up to its own.
  bool begin(std::size_t line) {
    bool is_key = false;
    if (!open_.empty()) {
      Open& in = open_.back();
      is_key = in.is_map && in.nodes % 2 == 0;
      if (in.nodes > 0) json_ += in.is_map && !is_key ? ':' : ',';
      ++in.nodes;
    }
    if (line > line_) json_.append(line - line_, '\n');
    line_ = std::max(line_, line);
    return is_key;
  }

  void open(std::size_t line, bool is_map) {
    if (begin(line)) refuse(line, "a text as a key", is_map ? "a map" : "a list");
    if (open_.size() >= kMaxJsonDepth) refuse(line, fmt::format("at most {} levels", kMaxJsonDepth), "more");
    json_ += is_map ? '{' : '[';
    open_.push_back({.is_map = is_map});
  }

  void scalar(std::size_t line, const yaml_event_t& event) {
    const std::string_view text(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
    const bool is_key = begin(line);
    const bool is_plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    json_ += is_key || !is_plain ? json_string(text) : plain_scalar(text);
  }

  const std::string& file_;
  yaml_parser_t parser_{};
  std::string json_;
  std::vector<Open> open_;
  std::size_t line_ = 0, documents_ = 0;
};

}  // namespace

JsonDocument parse_yaml(std::string_view text, const std::string& file) {
  std::string json = YamlReader(text, file).json();
  try {
    JsonTree tree = parse_json_tree(std::move(json), file);
    tree.sources.front().has_columns = false;
    return JsonDocument(std::move(tree));
  } catch (const InputError& error) {  // a key twice
    std::vector<Mistake> mistakes = error.mistakes();
    for (Mistake& mistake : mistakes) mistake.column = 0;
    throw InputError(std::move(mistakes), error.left_out());
  }
}

JsonDocument read_document(const std::string& path) {
  if (!path.ends_with(".yaml") && !path.ends_with(".yml")) return read_json_file(path);
  return parse_yaml(read_file(path, kMaxYamlBytes), path);
}

}  // namespace rehearse::sim
