// JSON text to JsonTree: nlohmann/json's event parser over an iterator that tells how far it has read. What that parser lets
// pass is checked here: duplicate keys, nesting, the number of values, what stands behind a NUL character.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/io/json.hpp"
#include "sim/io/json_tree.hpp"
#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"

namespace rehearse::sim {

namespace {

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// What the parser wanted, in the words of its messages, and in ours.
constexpr std::pair<std::string_view, std::string_view> kExpectations[] = {
    {"expected '[', '{', or a literal", "a value"},
    {"expected string literal", "a key in double quotes"},
    {"expected end of input", "nothing after the document's one value"},
    {"expected ':'", "\":\""},
    {"expected ']'", "\",\" or \"]\""},
    {"expected '}'", "\",\" or \"}\""},
};

/// Receives the parser's events; the names are nlohmann/json's.
class TreeBuilder {
 public:
  using Json = nlohmann::json;

  TreeBuilder(JsonTree& tree, const char* const& reached) : tree_(tree), reached_(reached) {
    if (tree_.text.starts_with(kByteOrderMark)) token_end_ = kByteOrderMark.size();
    const auto opens = [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; };
    const auto bound = static_cast<std::size_t>(std::count_if(tree_.text.begin(), tree_.text.end(), opens)) + 1;
    tree_.nodes.reserve(std::min(bound, kMaxJsonValues));  // no value without one of these before it: the list never moves
  }

  bool null() { return add(JsonKind::null); }
  bool boolean(bool value) { return add(JsonKind::boolean) && (node().size = value, true); }
  bool number_integer(Json::number_integer_t value) { return add_number(static_cast<double>(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return add_number(static_cast<double>(value)); }
  bool number_float(Json::number_float_t value, const std::string&) { return add_number(value); }
  bool string(const std::string& value) { return add(JsonKind::string) && set_string(value); }
  bool key(const std::string& value) {
    if (!add(JsonKind::string)) return false;
    ++tree_.nodes[open_.back()].size;
    return set_string(value);
  }
  bool binary(Json::binary_t&) { return false; }  // not in JSON texts

  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_array() {
    tree_.nodes[open_.back()].next = static_cast<std::uint32_t>(tree_.nodes.size());
    open_.pop_back();
    token_end_ = offset_reached();
    return true;
  }
  bool end_object() {
    const std::uint32_t object = open_.back();
    end_array();
    find_duplicates(object);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    const std::size_t last = std::min(position == 0 ? 0 : position - 1, tree_.text.size());
    const std::size_t start = std::min(token_start(), last);
    Mistake mistake = tree_.at(start);
    mistake.found = excerpt(start);
    const std::string_view what = error.what();
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      mistake.expected = "a number within the range of a double";
    } else if (const std::size_t invalid = what.find("invalid string: "); invalid != what.npos) {
      describe_bad_string(what.substr(invalid, what.find("; last read") - invalid), start, last, mistake);
    } else {
      mistake.expected = "a value";
      for (const auto& [theirs, ours] : kExpectations)
        if (what.ends_with(theirs)) mistake.expected = ours;
    }
    mistakes_.add(std::move(mistake));
    return false;
  }

  /// Throws InputError unless all of the text was one good value.
  void finish(bool complete) {
    token_end_ = complete ? token_start() : token_end_;
    if (complete && token_end_ < tree_.text.size()) {
      Mistake mistake = tree_.at(token_end_);
      mistake.expected = "nothing after the document's one value";
      mistake.found = excerpt(token_end_);
      mistakes_.add(std::move(mistake));
    }
    mistakes_.throw_if_any();
    check(complete, "the JSON parser stopped without a reason");
  }

 private:
  /// Of a container that all nodes to come lie in: what is told of them before its end finds them there.
  static constexpr std::uint32_t kUnended = (std::uint32_t{1} << 28) - 1;

  JsonNode& node() { return tree_.nodes.back(); }
  std::size_t offset_reached() const { return static_cast<std::size_t>(reached_ - tree_.text.data()); }
  std::size_t token_start() const { return std::min(tree_.text.find_first_not_of(" \t\r\n,:", token_end_), tree_.text.size()); }

  bool add(JsonKind kind) {
    const std::size_t start = token_start();
    if (tree_.nodes.size() == kMaxJsonValues)
      return stop(start, fmt::format("at most {} values and keys", kMaxJsonValues), "more");
    if (!open_.empty() && tree_.kind(open_.back()) == JsonKind::array) ++tree_.nodes[open_.back()].size;
    JsonNode added{};
    added.offset = static_cast<std::uint32_t>(start);
    added.kind = static_cast<std::uint32_t>(kind);
    added.next = static_cast<std::uint32_t>(tree_.nodes.size() + 1);
    tree_.nodes.push_back(added);
    token_end_ = offset_reached();
    return true;
  }

  bool add_number(double value) {
    if (!add(JsonKind::number)) return false;
    node().number = value;
    token_end_ = node().offset + tree_.number_token(static_cast<std::uint32_t>(tree_.nodes.size() - 1)).size();
    return true;
  }

  bool set_string(const std::string& value) {
    const std::size_t size_in_text =
        token_end_ - node().offset - 2;  // without the quotes; escapes are longer than what they stand for
    node().decoded = value.size() != size_in_text;
    node().string = {.begin = node().decoded ? static_cast<std::uint32_t>(tree_.decoded.size()) : node().offset + 1,
                     .size = static_cast<std::uint32_t>(value.size())};
    if (node().decoded) tree_.decoded += value;
    return true;
  }

  bool open(JsonKind kind) {
    if (open_.size() == kMaxJsonDepth)
      return stop(token_start(), fmt::format("at most {} levels of nesting", kMaxJsonDepth), "one more");
    if (!add(kind)) return false;
    node().next = kUnended;
    token_end_ = node().offset + 1;
    open_.push_back(static_cast<std::uint32_t>(tree_.nodes.size() - 1));
    return true;
  }

  bool stop(std::size_t offset, std::string expected, std::string found) {
    Mistake mistake = tree_.at(offset);
    mistake.expected = std::move(expected);
    mistake.found = std::move(found);
    mistakes_.add(std::move(mistake));
    return false;
  }

  void find_duplicates(std::uint32_t object) {
    keys_.clear();
    for (const JsonMember& member : JsonValue(tree_, object).members()) keys_.emplace_back(member.key.text(), member.key);
    // Stable: of equal keys the first in the text comes first.
    std::stable_sort(keys_.begin(), keys_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 1, first = 0; i < keys_.size(); ++i) {
      if (keys_[i].first != keys_[first].first) {
        first = i;
        continue;
      }
      mistakes_.add_from([&] {
        Mistake mistake = keys_[i].second.mistake("each key once");
        mistake.found = fmt::format("{} again (first on line {})", shown(keys_[i].first), keys_[first].second.mistake({}).line);
        return mistake;
      });
    }
  }

  /// The token at `offset`, or what looks like one.
  std::string excerpt(std::size_t offset) const {
    if (offset >= tree_.text.size()) return tree_.nodes.empty() ? "an empty file" : "the end of the file";
    constexpr std::string_view kSeparators = " \t\r\n,:[]{}\"";
    const bool is_word = kSeparators.find(tree_.text[offset]) == kSeparators.npos;
    const std::size_t end = is_word ? tree_.text.find_first_of(kSeparators, offset) : offset + 1;
    return shown(std::string_view(tree_.text).substr(offset, end == tree_.text.npos ? end : end - offset), 20);
  }

  void describe_bad_string(std::string_view reason, std::size_t start, std::size_t last, Mistake& mistake) const {
    reason.remove_prefix(std::string_view("invalid string: ").size());
    if (reason.starts_with("missing closing quote")) {
      mistake.expected = "a closing quote";
      mistake.found = "the end of the file in a string that starts here";
    } else {
      mistake = tree_.at(std::max(start, last));
      mistake.expected = "a valid string";
      mistake.found = printable(reason, 80);
    }
  }

  JsonTree& tree_;
  const char* const& reached_;
  std::size_t token_end_ = 0;                                 ///< where the token of the last event ended
  std::vector<std::uint32_t> open_;                           ///< the containers around the next token
  std::vector<std::pair<std::string_view, JsonValue>> keys_;  ///< kept for its memory
  Mistakes mistakes_;
};

}  // namespace

JsonTree parse_json_tree(std::string text, std::string file) {
  JsonTree tree;
  tree.text = std::move(text);
  tree.sources.push_back({.begin = 0, .file = std::move(file), .has_lines = true});
  if (tree.text.size() > kMaxJsonBytes) {
    throw InputError(Mistake{
        .file = tree.sources[0].file, .expected = fmt::format("at most {} MiB of JSON", kMaxJsonBytes >> 20), .found = "more"});
  }
  const char* reached = tree.text.data();
  TreeBuilder builder(tree, reached);
  const CountingIterator begin(reached, &reached), end(reached + tree.text.size(), &reached);
  builder.finish(nlohmann::json::sax_parse(begin, end, &builder));
  return tree;
}

JsonDocument parse_json(std::string text, std::string file) {
  return JsonDocument(parse_json_tree(std::move(text), std::move(file)));
}

JsonDocument read_json_file(const std::string& path) { return parse_json(read_unpacked(path, kMaxJsonBytes), path); }

}  // namespace rehearse::sim
