// Past runs in several formats: a reader for each, in one table (formats.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "traces/histories/history_list.hpp"

namespace rehearse::traces {

struct HistoryFormat {
  std::string_view name, description;
  std::string_view source;  ///< how to get such a file; empty for one's own
  /// Throws sim::InputError when the file cannot be read or holds nothing that can be used.
  HistoryList (*read)(const std::string& path);
};

/// Our own comes first.
std::span<const HistoryFormat> history_formats();

/// Rows that cannot be used are dropped, and the report says so.
HistoryList read_trimtuner_history(const std::string& path);

}  // namespace rehearse::traces
