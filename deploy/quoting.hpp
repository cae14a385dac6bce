// Texts of a user's in files of other languages: one function a language, and nothing in a text can end the literal that it
// becomes. All results but Dockerfile's are printable ASCII on one line. Bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::traces {

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
