#include "traces/networks/torch_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::traces {

namespace {

constexpr std::string_view kForward = "def forward(";  // "self" on the same line, or on the next
constexpr int kMostDepth = 60;                         // of brackets in one expression
constexpr std::size_t kTree = 4096;                    // where a printed module's first line is

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(char c) { return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// What stands where an expression should; caught where the line is known.
struct NoExpression {
  std::string expected;
};

/// One line of Python, as FX writes it: names, literals, calls, indices and + - * / @.
class Expression {
 public:
  explicit Expression(std::string_view text) : rest_(text) {}

  TorchValue value() {
    if (++depth_ > kMostDepth) throw NoExpression{"brackets less deep"};
    TorchValue left = operand();
    for (;;) {
      skip();
      static constexpr std::pair<char, const char*> kOperators[] = {{'+', "operator.add"},
                                                                    {'-', "operator.sub"},
                                                                    {'*', "operator.mul"},
                                                                    {'/', "operator.truediv"},
                                                                    {'@', "operator.matmul"}};
      const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                      [&](const auto& o) { return !rest_.empty() && rest_.front() == o.first; });
      if (found == std::end(kOperators)) break;
      while (take(found->first)) {  // ** and //
      }
      TorchValue call{.kind = TorchValue::Kind::call, .text = found->second};
      call.items.push_back(std::move(left));
      call.items.push_back(operand());
      left = std::move(call);
    }
    --depth_;
    return left;
  }

  /// A type behind a colon: "f32[1, 3]" with or without quotes; nothing for another.
  std::optional<TorchType> type() {
    skip();
    const char quote = !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'') ? rest_.front() : '\0';
    if (quote != '\0') rest_.remove_prefix(1);
    std::size_t end = 0;
    for (int open = 0; end < rest_.size(); ++end) {
      const char c = rest_[end];
      open += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      if (open < 0 || (quote != '\0' ? c == quote : open == 0 && (c == ',' || c == '='))) break;
    }
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(rest_.size(), end + (quote != '\0' ? 1 : 0)));
    const std::size_t bracket = text.find('[');
    if (bracket == text.npos || bracket == 0 ||
        !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bracket), is_name))
      return std::nullopt;
    TorchType type{.element = std::string(text.substr(0, bracket))};
    std::string_view sizes = text.substr(bracket + 1);
    sizes = sizes.substr(0, sizes.find(']'));
    while (!trimmed_line(sizes).empty()) {
      const std::string_view one = trimmed_line(sizes.substr(0, sizes.find(',')));
      std::int64_t size = -1;
      const auto [stop, error] = std::from_chars(one.data(), one.data() + one.size(), size);
      type.sizes.push_back(error == std::errc() && stop == one.data() + one.size() ? size : -1);
      sizes.remove_prefix(std::min(sizes.size(), sizes.find(',') == sizes.npos ? sizes.size() : sizes.find(',') + 1));
    }
    return type;
  }

  std::string name() {
    skip();
    std::size_t end = 0;
    while (end < rest_.size() && is_name(rest_[end])) ++end;
    if (end == 0 || !is_name_start(rest_.front())) throw NoExpression{"a name"};
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return text;
  }

  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip();
    return rest_.empty() || rest_.front() == ';' || rest_.front() == '#';
  }
  bool at_name() {
    skip();
    return !rest_.empty() && is_name_start(rest_.front());
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  void require(char c) {
    if (!take(c)) throw NoExpression{fmt::format("\"{}\"", c)};
  }

  TorchValue operand() {
    skip();
    if (rest_.empty()) throw NoExpression{"an expression"};
    const char c = rest_.front();
    TorchValue value;
    if (c == '"' || c == '\'') {
      value = text(c);
    } else if (c == '(' || c == '[') {
      rest_.remove_prefix(1);
      value = list(c == '(' ? ')' : ']');
    } else if (c == '-' || c == '+') {
      rest_.remove_prefix(1);
      if (++depth_ > kMostDepth) throw NoExpression{"fewer signs"};
      value = operand();
      --depth_;
      if (c == '-') value.number = -value.number;
      return value;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
      value.kind = TorchValue::Kind::number;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value.number);
      if (error != std::errc()) throw NoExpression{"a number"};
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    } else if (is_name_start(c)) {
      value = {.kind = TorchValue::Kind::name, .text = name()};
      if (value.text == "None") value = {};
    } else {
      throw NoExpression{"an expression"};
    }
    return behind(std::move(value));
  }

  TorchValue text(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) throw NoExpression{"the end of a text"};
    TorchValue value{.kind = TorchValue::Kind::text, .text = std::string(rest_.substr(1, end - 1))};
    rest_.remove_prefix(end + 1);
    return value;
  }

  TorchValue list(char end) {
    TorchValue value{.kind = TorchValue::Kind::list};
    while (!take(end)) {
      if (take(':')) continue;  // of a slice
      value.items.push_back(this->value());
      if (take(':') || take(',')) continue;
      require(end);
      break;
    }
    return value;
  }

  /// Dots, brackets and indices behind a value.
  TorchValue behind(TorchValue value) {
    for (;;) {
      if (take('.')) {
        const std::string attribute = name();
        if (value.kind == TorchValue::Kind::name)
          value.text += "." + attribute;
        else
          value = {.kind = TorchValue::Kind::call, .text = "." + attribute, .items = {std::move(value)}};
      } else if (take('(')) {
        value = called(std::move(value));
      } else if (take('[')) {
        TorchValue index = list(']');
        TorchValue taken{.kind = TorchValue::Kind::call, .text = "operator.getitem"};
        taken.items.push_back(std::move(value));
        taken.items.push_back(index.items.size() == 1 ? std::move(index.items[0]) : std::move(index));
        value = std::move(taken);
      } else {
        return value;
      }
    }
  }

  /// Behind "(". A method of a variable is a call of ".method" with the variable in front; getattr(a.b, "0") is the name a.b.0.
  TorchValue called(TorchValue what) {
    TorchValue call{.kind = TorchValue::Kind::call};
    if (what.kind == TorchValue::Kind::name) {
      const std::size_t first = what.text.find('.'), last = what.text.rfind('.');
      const std::string_view root = std::string_view(what.text).substr(0, first);
      if (first == what.text.npos || root == "self" || root == "torch" || root == "operator" || root == "math") {
        call.text = what.text;
      } else {
        call.text = what.text.substr(last);
        call.items.push_back({.kind = TorchValue::Kind::name, .text = what.text.substr(0, last)});
      }
    } else if (what.kind == TorchValue::Kind::call && what.text.starts_with('.') && what.items.size() == 1) {
      call.text = what.text;
      call.items = std::move(what.items);
    } else {
      throw NoExpression{"a function to call"};
    }
    while (!take(')')) {
      const std::string_view before = rest_;
      if (at_name()) {
        const std::string keyword = name();
        if (take('=')) {
          call.named.emplace_back(keyword, value());
          if (!take(',')) {
            require(')');
            break;
          }
          continue;
        }
        rest_ = before;
      }
      call.items.push_back(value());
      if (take(',')) continue;
      require(')');
      break;
    }
    if (call.text != "getattr" || call.items.size() < 2 || call.items[1].kind != TorchValue::Kind::text) return call;
    return {.kind = TorchValue::Kind::name, .text = call.items[0].text + "." + call.items[1].text};
  }

  std::string_view rest_;
  int depth_ = 0;
};

/// How far brackets are open at the end of a line; quotes and comments are left out.
int open_brackets(std::string_view line) {
  int open = 0;
  char quote = '\0';
  for (const char c : line) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      break;
    } else {
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
  }
  return open;
}

class ProgramReader {
 public:
  ProgramReader(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  TorchProgram read() {
    if (rest_.find("torch.ops.") == rest_.npos) refuse_module();
    read_forward();
    read_statements();
    read_signature();
    mistakes_.throw_if_any();
    return std::move(program_);
  }

 private:
  bool next_line(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = trimmed_line(rest_.substr(0, end));
    rest_.remove_prefix(std::min(rest_.size(), end + 1));
    ++line_;
    return true;
  }

  void refuse(std::int64_t number, std::string_view line, std::string expected) {
    mistakes_.add({.file = file_, .line = number, .expected = std::move(expected), .found = sim::shown(std::string(line))});
  }

  void read_forward() {
    std::string_view line;
    while (next_line(line))
      if (line.starts_with(kForward)) return read_arguments(line);
  }

  /// A line, and those that follow up to where its brackets close.
  std::string whole(std::string_view line) {
    std::string text(line);
    int open = open_brackets(line);
    for (std::string_view more; open > 0 && next_line(more);) {
      text += "\n" + std::string(more.substr(0, more.find(" #")));
      open += open_brackets(more);
    }
    return text;
  }

  void read_arguments(std::string_view line) {
    program_.forward_line = line_;
    const std::string text = whole(line);
    Expression in(std::string_view(text).substr(kForward.size()));
    try {
      if (in.name() != "self") throw NoExpression{"self in front"};
      while (in.take(',') && in.at_name()) {
        std::string name = in.name();
        std::optional<TorchType> type;
        if (in.take(':')) type = in.type();
        if (in.take('=')) in.value();
        program_.arguments.emplace_back(std::move(name), std::move(type));
      }
    } catch (const NoExpression& error) {
      refuse(program_.forward_line, line, fmt::format("the arguments of forward, with {}", error.expected));
    }
  }

  void read_statements() {
    std::string_view line;
    while (next_line(line)) {
      if (line.starts_with("return")) return read_results(whole(line.substr(std::string_view("return").size())));
      if (line.empty() || line.starts_with('#') || line.starts_with('"')) continue;
      const std::int64_t number = line_;
      const std::string text = whole(line);
      Expression in(text);
      try {
        TorchStatement statement{.line = number, .name = in.name()};
        if (in.take(':')) statement.type = in.type();
        if (!in.take('=')) continue;  // a call without a result
        statement.value = in.value();
        if (!in.at_end() && !in.take('=')) throw NoExpression{"the end of the statement"};
        if (statement.value.kind != TorchValue::Kind::none) program_.statements.push_back(std::move(statement));
      } catch (const NoExpression& error) {
        refuse(number, line, fmt::format("a statement of torch.export, with {}", error.expected));
      }
    }
  }

  void read_results(const std::string& text) {
    try {
      const TorchValue value = Expression(text).value();
      const auto add = [&](const auto& self, const TorchValue& one) -> void {
        if (one.kind == TorchValue::Kind::name) program_.results.push_back(one.text);
        for (const TorchValue& item : one.items) self(self, item);
      };
      add(add, value);
    } catch (const NoExpression& error) {
      refuse(line_, text, fmt::format("what forward returns, with {}", error.expected));
    }
  }

  [[noreturn]] void refuse_module() const {
    throw sim::InputError(
        {.file = file_,
         .expected =
             "a program of torch.export, whose shapes are printed, or the file that rehearse_torch.py writes of the module: "
             "python3 python/rehearse_torch.py my_model.py:Net --input 3,224,224 -o net.json (docs/guide/python.md)",
         .found = "a module as PyTorch prints it"});
  }

  /// Which arguments are a user's and no weights: ExportGraphSignature of either age.
  void read_signature() {
    const auto quoted = [](std::string_view text) { return std::string(text.substr(0, text.find('\''))); };
    constexpr std::string_view kOld = "user_inputs=[", kNew = "InputKind.USER_INPUT", kName = "name='";
    if (const std::size_t at = rest_.find(kOld); at != rest_.npos) {
      std::string_view list = rest_.substr(at + kOld.size());
      list = list.substr(0, list.find(']'));
      for (std::size_t begin = list.find('\''); begin != list.npos;) {
        program_.inputs.push_back(quoted(list.substr(begin + 1)));
        const std::size_t end = list.find('\'', begin + 1);
        begin = end == list.npos ? end : list.find('\'', end + 1);
      }
    }
    for (std::size_t at = rest_.find(kNew); at != rest_.npos; at = rest_.find(kNew, at + 1))
      if (const std::size_t name = rest_.find(kName, at); name != rest_.npos)
        program_.inputs.push_back(quoted(rest_.substr(name + kName.size())));
  }

  std::string_view rest_;
  std::string file_;
  std::int64_t line_ = 0;
  TorchProgram program_;
  sim::Mistakes mistakes_;
};

}  // namespace

bool is_torch_program(std::string_view text) {
  for (std::size_t at = text.find("): "); at != text.npos && at < kTree; at = text.find("): ", at + 1)) {  // "  (conv1): Conv2d("
    const std::size_t line = text.rfind('\n', at), name = line == text.npos ? line : text.find_first_not_of(' ', line + 1);
    if (name != text.npos && name < at && text[name] == '(') return true;
  }
  for (std::size_t at = text.find(kForward); at != text.npos; at = text.find(kForward, at + 1)) {
    const std::string_view behind = text.substr(at + kForward.size());
    if (behind.substr(std::min(behind.find_first_not_of(" \t\r\n"), behind.size())).starts_with("self")) return true;
  }
  return false;
}

TorchProgram read_torch_program(std::string_view text, const std::string& file) { return ProgramReader(text, file).read(); }

}  // namespace rehearse::traces
