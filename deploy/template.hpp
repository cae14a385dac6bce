// Templates of deployment files. A slot {{name}} stands for a value; a text gets into a file through the quoting function of the
// file's language and no other way, so that a template cannot forget it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/embedded.hpp"

namespace rehearse::traces {

enum class Language { python, shell, yaml, dockerfile, markdown };

class Slots {
 public:
  /// Anything. Markdown, which has no strings, takes none.
  void text(std::string name, std::string value) { values_[std::move(name)] = {Kind::text, std::move(value)}; }
  /// As it is; that it is a plain token (deploy/quoting.hpp) is a check.
  void token(std::string name, std::string value);
  /// In its shortest form.
  void number(std::string name, double value);
  /// Lines that are already in the file's language.
  void code(std::string name, std::string value) { values_[std::move(name)] = {Kind::code, std::move(value)}; }

 private:
  enum class Kind { text, token, code };
  struct Value {
    Kind kind = Kind::text;
    std::string value;
  };
  friend std::string filled(std::string_view text, Language language, const Slots& slots);
  std::map<std::string, Value> values_;
};

/// The template with its slots filled; what is filled in is not searched again. Unknown slots, and texts in comments, which a
/// line end would end, are failed checks.
std::string filled(std::string_view text, Language language, const Slots& slots);

/// The program's own templates, by path from the repository's root.
std::span<const sim::EmbeddedFile> deploy_templates();

}  // namespace rehearse::traces
