// What readers and writers of native CSV files of measurements share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/io/csv.hpp"

namespace rehearse::traces {

/// The position of the field among `names`. Another text is a mistake of the row, `what` is what was expected; it then stands for
/// the first.
std::size_t choice(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names, std::string_view what);
/// An empty field, or no such column, is the first name.
std::size_t choice_or_first(sim::CsvRow& row, std::string_view column, const std::vector<std::string>& names);

/// The shortest form that reads back; empty for what was not measured.
std::string number_or_empty(double x);

}  // namespace rehearse::traces
