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
  /// As it is; that it is a plain token (deploy/template.hpp) is a check.
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

// Texts of a user's in files of other languages: one function a language, and nothing in a text can end the literal that it
// becomes. All results but Dockerfile's are printable ASCII on one line. Bytes that are not UTF-8 become U+FFFD.

/// A string literal of Python 3, in double quotes.
std::string python_string(std::string_view text);
/// One word of bash, in single quotes ('' or, with escapes, $''). NUL, which no word can hold, becomes U+FFFD.
std::string shell_word(std::string_view text);
/// A double-quoted scalar of YAML 1.1 and 1.2.
std::string yaml_string(std::string_view text);
/// A double-quoted value of LABEL or ENV. Control characters, for which there is no escape, become U+FFFD.
std::string dockerfile_string(std::string_view text);

/// A name that is left after everything but letters, digits, '-', '_' and '.' became '-': a component of a path, never "..",
/// never hidden, never an option; at most 100 bytes.
std::string path_component(std::string_view text);
/// Lower-case letters, digits and inner '-', at most 40 of them: a Kubernetes name (RFC 1123) with room for suffixes.
std::string dns_label(std::string_view text);
/// Letters, digits and '_', not beginning with a digit: a name of a Keras layer.
std::string identifier(std::string_view text);
/// Whether a text needs no quotes in any of the languages: letters, digits and any of "._:=/+-" , at least one.
bool is_plain_token(std::string_view text);

}  // namespace rehearse::traces
