#include "sim/io/csv_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rehearse::sim {

namespace {

char* find(char* begin, char* end, char c) {
  return static_cast<char*>(std::memchr(begin, c, static_cast<std::size_t>(end - begin)));
}

}  // namespace

CsvReader::Source::Source(const std::string& path)
    : path_(path),
      file_(path),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
      begin_(buffer_.get()),
      end_(begin_) {
  fill();
  if (std::string_view(begin_, end_).starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
}

void CsvReader::Source::refuse(std::string expected, std::string found, std::int64_t lines_further) const {
  throw InputError(
      Mistake{.file = path_, .line = line_ + lines_further, .expected = std::move(expected), .found = std::move(found)});
}

bool CsvReader::Source::fill() {
  if (at_end_) return false;
  const auto kept = static_cast<std::size_t>(end_ - begin_);
  std::memmove(buffer_.get(), begin_, kept);
  begin_ = buffer_.get();
  end_ = begin_ + kept;
  const std::size_t wanted = kBufferBytes - kept;
  const std::size_t got = file_.read(end_, wanted);
  char* const new_end = end_ + got;
  if (char* const nul = find(end_, new_end, '\0'))
    refuse("text", "a NUL character: a binary file", std::count(begin_, nul, '\n'));
  end_ = new_end;
  at_end_ = got < wanted;
  return got > 0;
}

/// The line end that closes the line at begin_, or end_ where the file ends without one.
char* CsvReader::Source::find_line_end() {
  enum class State { field_start, plain, quoted, quote_in_quoted };
  while (true) {
    // Few lines have quotes: look for the line end first.
    char* const line_end = find(begin_, end_, '\n');
    if (line_end != nullptr && find(begin_, line_end, '"') == nullptr) return line_end;
    State state = State::field_start;
    for (char* at = begin_; at != end_; ++at) {
      const char c = *at;
      switch (state) {
        case State::field_start:
        case State::plain:
        case State::quote_in_quoted:
          if (c == '\n') return at;
          if (c == ',')
            state = State::field_start;
          else if (c == '"')
            state = state == State::plain ? State::plain : State::quoted;
          else
            state = State::plain;
          break;
        case State::quoted:
          if (c == '"') state = State::quote_in_quoted;
          break;
      }
    }
    if (static_cast<std::size_t>(end_ - begin_) > kMaxRowBytes) return end_;
    if (!fill()) {
      if (state == State::quoted) refuse("a closing quote", "the end of the file in a quoted field of this row");
      return end_;
    }
  }
}

void CsvReader::Source::split(char* begin, char* end, std::vector<std::string_view>& fields) {
  while (char* const comma = find(begin, end, ',')) {
    fields.emplace_back(begin, comma);
    begin = comma + 1;
  }
  fields.emplace_back(begin, end);
}

/// Fields are unquoted in place, where they only get shorter. Returns the first field with text behind its closing quote, or 0.
std::size_t CsvReader::Source::split_quoted(char* begin, char* end, std::vector<std::string_view>& fields) {
  std::size_t bad = 0;
  while (true) {
    char* field_end = end;
    if (begin != end && *begin == '"') {
      char* out = begin;
      char* at = begin + 1;
      for (; at != end; ++at) {
        if (*at == '"') {
          if (at + 1 == end || at[1] != '"') break;
          ++at;
        }
        *out++ = *at;
      }
      fields.emplace_back(begin, out);
      char* const behind = at == end ? end : at + 1;
      char* const comma = find(behind, end, ',');
      field_end = comma != nullptr ? comma : end;
      if (field_end != behind && bad == 0) bad = fields.size();
    } else {
      char* const comma = find(begin, end, ',');
      field_end = comma != nullptr ? comma : end;
      fields.emplace_back(begin, field_end);
    }
    if (field_end == end) return bad;
    begin = field_end + 1;
  }
}

CsvLine CsvReader::Source::next_line(std::vector<std::string_view>& fields) {
  while (true) {
    char* const line_end = find_line_end();
    if (static_cast<std::size_t>(line_end - begin_) > kMaxRowBytes)
      refuse("lines of at most 1 MiB", "a longer one, or a quote that is never closed");
    if (begin_ == end_) return {.number = line_};
    CsvLine line{.exists = true, .number = line_};
    char* const begin = begin_;
    char* content_end = line_end;
    if (content_end != begin && content_end[-1] == '\r') --content_end;
    const bool has_quotes = find(begin, content_end, '"') != nullptr;
    line_ += 1 + (has_quotes ? std::count(begin, line_end, '\n') : 0);
    begin_ = line_end == end_ ? end_ : line_end + 1;
    if (content_end == begin) continue;
    if (has_quotes)
      line.bad_quote_field = split_quoted(begin, content_end, fields);
    else
      split(begin, content_end, fields);
    return line;
  }
}

}  // namespace rehearse::sim
