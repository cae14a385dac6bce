// What is done to a document as a whole: overriding values and writing it back.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/json_tree.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

JsonDocument::JsonDocument(JsonTree tree) : tree_(std::make_unique<JsonTree>(std::move(tree))) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

const std::string& JsonDocument::file() const { return tree_->sources.front().file; }

namespace {

void write_string(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  out += '"';
}

constexpr std::size_t kOneLine = static_cast<std::size_t>(-1);

/// Writes the value at `index`; its lines but the first begin with `indent` blanks, or there is but one.
void write(const JsonTree& tree, std::uint32_t index, std::size_t indent, std::string& out) {
  const JsonNode& node = tree.nodes[index];
  switch (tree.kind(index)) {
    case JsonKind::null:
      out += "null";
      return;
    case JsonKind::boolean:
      out += node.size != 0 ? "true" : "false";
      return;
    case JsonKind::number:
      out += tree.number_token(index);
      return;
    case JsonKind::string:
      write_string(tree.string(index), out);
      return;
    case JsonKind::array:
    case JsonKind::object:
      break;
  }
  const bool is_object = tree.kind(index) == JsonKind::object, one_line = indent == kOneLine;
  out += is_object ? '{' : '[';
  for (std::uint32_t child = index + 1; child < node.next; child = tree.nodes[child].next) {
    if (child != index + 1) out += one_line ? ", " : ",";
    if (!one_line) out.append(1, '\n').append(indent + 2, ' ');
    if (is_object) {
      write_string(tree.string(child), out);
      out += ": ";
      ++child;
    }
    write(tree, child, one_line ? kOneLine : indent + 2, out);
  }
  if (node.size != 0 && !one_line) out.append(1, '\n').append(indent, ' ');
  out += is_object ? '}' : ']';
}

/// "~1" is "/", "~0" is "~" (RFC 6901, section 4).
std::string unescape(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1');
    out += escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return out;
}

/// Where an override goes: the nodes [begin, end) are replaced, or, if there are none, something is put before `begin`.
struct OverridePlace {
  std::vector<std::uint32_t> around;  ///< the containers that hold it, outermost first
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string new_key;                  ///< of a member to be added
  std::vector<std::string> inner_keys;  ///< of the objects to make around the new value
  bool is_new = false;
};

class PlaceFinder {
 public:
  PlaceFinder(const JsonTree& tree, std::string_view pointer, std::string_view from)
      : tree_(tree), pointer_(pointer), from_(from) {
    if (!pointer.starts_with('/')) refuse("a JSON pointer that starts with \"/\"", shown(pointer), "/" + std::string(pointer));
    place_.end = tree.nodes[0].next;
    for (std::size_t at = 0; at != pointer.npos;) {
      const std::size_t end = pointer.find('/', at + 1);
      const std::string token = unescape(pointer.substr(at + 1, end == pointer.npos ? end : end - at - 1));
      if (place_.is_new)
        place_.inner_keys.push_back(token);  // of objects that the change makes on its way
      else
        step(at, token, end == pointer.npos);
      at = end;
    }
  }
  OverridePlace place() && { return std::move(place_); }

 private:
  [[noreturn]] void refuse(std::string expected, std::string found, std::string nearest = {}) const {
    throw InputError(Mistake{.file = std::string(from_),
                             .pointer = printable(pointer_, 200),
                             .expected = std::move(expected),
                             .found = std::move(found),
                             .nearest = std::move(nearest)});
  }

  /// From the value at place_.begin to its element or member `token`.
  void step(std::size_t at, const std::string& token, bool is_last) {
    const std::uint32_t container = place_.begin;
    const std::string name = at == 0 ? "the document" : printable(pointer_.substr(0, at), 100);
    place_.around.push_back(container);
    switch (tree_.kind(container)) {
      case JsonKind::object:
        into_object(JsonValue(tree_, container), token, name, is_last);
        break;
      case JsonKind::array:
        into_array(JsonValue(tree_, container), token, name, is_last);
        break;
      default:
        refuse(fmt::format("{} to be an object or a list", name), JsonValue(tree_, container).found());
    }
  }

  void into_object(JsonValue object, const std::string& key, const std::string& name, bool is_last) {
    std::uint32_t child = place_.begin + 1;
    for (const JsonMember& member : object.members()) {
      if (member.key.text() == key) return enter(child + 1);
      child = tree_.nodes[child + 1].next;
    }
    std::vector<std::string> keys;
    for (const JsonMember& member : object.members()) keys.emplace_back(member.key.text());
    const std::string nearest = nearest_name(key, keys);
    // A value's own key may be new whatever its name; on the way to it, one that is near another is rather a slip.
    if (!is_utf8(key) || (!is_last && !nearest.empty())) refuse(fmt::format("a key of {}", name), shown(key), nearest);
    place_.new_key = key;
    append();
  }

  void into_array(JsonValue array, const std::string& token, const std::string& name, bool is_last) {
    std::size_t position = array.size();
    const auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), position);
    const bool is_index = error == std::errc{} && rest == token.data() + token.size() && (token == "0" || token[0] != '0');
    if (is_last && (token == "-" || (is_index && position == array.size()))) return append();
    if (!is_index || position >= array.size())
      refuse(array.size() == 0 ? fmt::format("an element of {}, which has none", name)
                               : fmt::format("an index from 0 to {} in {}", array.size() - 1, name),
             shown(token));
    std::uint32_t child = place_.begin + 1;
    while (position-- > 0) child = tree_.nodes[child].next;
    enter(child);
  }

  void enter(std::uint32_t index) {
    place_.begin = index;
    place_.end = tree_.nodes[index].next;
  }

  void append() {
    place_.is_new = true;
    place_.begin = place_.end = tree_.nodes[place_.begin].next;
  }

  const JsonTree& tree_;
  std::string_view pointer_, from_;
  OverridePlace place_;
};

/// The nodes of `value`, and of `key` before them if there is one, fit to be put into `tree` at index `begin`.
std::vector<JsonNode> adopt(JsonTree& tree, const JsonTree& value, const OverridePlace& place, std::string_view from) {
  const auto text_begin = static_cast<std::uint32_t>(tree.text.size() + 1);
  tree.sources.push_back({.begin = text_begin, .file = std::string(from), .has_lines = false});
  tree.text += '\n' + value.text;  // the line end keeps a number at the end of the text before from growing
  const bool has_key = place.is_new && tree.kind(place.around.back()) == JsonKind::object;

  std::vector<JsonNode> nodes;
  if (has_key) {
    JsonNode key{};
    key.offset = text_begin;
    key.kind = static_cast<std::uint32_t>(JsonKind::string);
    key.decoded = 1;
    key.next = place.begin + 1;
    key.string = {.begin = static_cast<std::uint32_t>(tree.decoded.size()),
                  .size = static_cast<std::uint32_t>(place.new_key.size())};
    tree.decoded += place.new_key;
    nodes.push_back(key);
  }
  const auto first = place.begin + static_cast<std::uint32_t>(nodes.size());
  for (JsonNode node : value.nodes) {
    node.offset += text_begin;
    node.next += first;
    if (static_cast<JsonKind>(node.kind) == JsonKind::string)
      node.string.begin += node.decoded ? static_cast<std::uint32_t>(tree.decoded.size()) : text_begin;
    nodes.push_back(node);
  }
  tree.decoded += value.decoded;
  return nodes;
}

/// The value of an override, inside objects of these keys, the outermost first.
JsonTree parse_override(std::string_view value_text, const std::vector<std::string>& keys, std::string_view from) {
  std::string text(value_text);
  try {
    parse_json_tree(text, std::string(from));
  } catch (const InputError&) {
    text.clear();
    write_string(value_text, text);
  }
  std::string opening;
  for (const std::string& key : keys) {
    opening += '{';
    write_string(key, opening);
    opening += ':';
  }
  return parse_json_tree(opening + text + std::string(keys.size(), '}'), std::string(from));
}

}  // namespace

void JsonDocument::set(std::string_view pointer, std::string_view value_text, std::string_view from) {
  const OverridePlace place = PlaceFinder(*tree_, pointer, from).place();
  const JsonTree value = parse_override(value_text, place.inner_keys, from);
  const std::vector<JsonNode> added = adopt(*tree_, value, place, from);

  std::vector<JsonNode>& nodes = tree_->nodes;
  const std::int64_t shift = static_cast<std::int64_t>(added.size()) - (place.end - place.begin);
  const auto move_end = [shift](JsonNode& node) { node.next = static_cast<std::uint32_t>(node.next + shift) & ((1u << 28) - 1); };
  for (const std::uint32_t container : place.around) move_end(nodes[container]);
  for (std::size_t i = place.end; i < nodes.size(); ++i) move_end(nodes[i]);
  if (place.is_new) ++nodes[place.around.back()].size;
  const auto at = nodes.erase(nodes.begin() + place.begin, nodes.begin() + place.end);
  nodes.insert(at, added.begin(), added.end());
}

JsonDocument JsonDocument::copy() const { return JsonDocument(JsonTree(*tree_)); }

std::string JsonValue::json() const {
  std::string out;
  write(*tree_, index_, kOneLine, out);
  return out;
}

std::string JsonDocument::dump() const {
  std::string out;
  write(*tree_, 0, 0, out);
  return out + '\n';
}

}  // namespace rehearse::sim
