// What PyTorch prints of torch.export's ExportedProgram: a function `forward` of Python assignments, one operation each, with a
// type behind each name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse::traces {

using TorchSizes = std::vector<std::int64_t>;  ///< -1: symbolic

/// An expression: a name with its dots ("self.layer1.0.conv"), a number, a text, a list or tuple, or a call.
struct TorchValue {
  enum class Kind : std::uint8_t { none, name, number, text, list, call };
  Kind kind = Kind::none;
  std::string text;  ///< of a call what is called: "torch.ops.aten.relu.default", ".view" of its first item
  double number = 0;
  std::vector<TorchValue> items;                            ///< of a list; arguments of a call
  std::vector<std::pair<std::string, TorchValue>> named{};  ///< arguments by keyword
};

struct TorchType {
  std::string element;  ///< "f32", "i64"
  TorchSizes sizes;
};

struct TorchStatement {
  std::int64_t line = 0;
  std::string name;
  std::optional<TorchType> type;
  TorchValue value;
};

struct TorchProgram {
  std::vector<std::pair<std::string, std::optional<TorchType>>> arguments;  ///< of forward, self left out
  std::vector<std::string> inputs;  ///< of those, as the signature below names them; may be empty
  std::vector<TorchStatement> statements;
  std::vector<std::string> results;  ///< names that forward returns
  std::int64_t forward_line = 0;
};

/// Whether a text is one, or a printed module: it has "def forward(" and self behind, be it on the next line, or "  (name):
/// Class(".
bool is_torch_program(std::string_view text);

/// Throws sim::InputError for each line that is no such statement, by its number, and for a printed module, which has no shapes:
/// then with the command that writes them. `file` is named in messages.
TorchProgram read_torch_program(std::string_view text, const std::string& file);

}  // namespace rehearse::traces
