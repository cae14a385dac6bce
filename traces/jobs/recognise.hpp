// What a file is that a format's reader does not read.
#pragma once

#include <string>

#include "traces/jobs/readers.hpp"

namespace rehearse::traces {

/// "a file of the format tiresias", where other readers make jobs of its first rows and `format` makes none; or which other
/// program's file it is and what to do about it. Empty where neither can be told.
std::string what_it_is(const std::string& path, const TraceReaderEntry& format);

}  // namespace rehearse::traces
