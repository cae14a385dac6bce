// A table as compact JSON for the HTML report: column by column, texts as numbers into a list of names, numbers rounded to what a
// figure can show.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/io/csv.hpp"

namespace rehearse::report {

enum class Packing : std::uint8_t {
  text,
  number,  ///< to 6 significant digits
  date     ///< to hundredths
};

struct PackedColumn {
  std::string name;
  Packing packing = Packing::text;
};

class PackedTable {
 public:
  explicit PackedTable(std::vector<PackedColumn> columns);
  /// Fields of one row, one a column. NaN and the empty text are "undefined": null.
  void add_text(std::string_view value);
  void add_number(double value);
  void end_row();
  /// Takes the other rows out again.
  void keep(const std::function<bool(std::size_t row)>& is_kept);
  std::size_t rows() const { return rows_; }
  /// {"rows": N, "columns": {NAME: COLUMN}}; a COLUMN is {"all": VALUE} where all rows have the same, else {"numbers": [...]} or
  /// {"names": [...], "codes": [...]}.
  std::string json() const;

 private:
  struct Column {
    PackedColumn header;
    std::vector<double> numbers;
    std::vector<std::int32_t> codes;  ///< into names; -1: undefined
    std::vector<std::string> names;
    std::unordered_map<std::string, std::int32_t> code_of;  ///< only looked up
  };
  std::string json(const Column& column) const;
  std::vector<Column> columns_;
  std::size_t next_ = 0, rows_ = 0;
};

/// Calls `visit` with each row of a CSV file; nothing happens when there is no such file. Throws InputError for a file that lacks
/// one of the columns, or whose rows cannot be read.
void for_each_row(const std::string& path, const sim::CsvColumns& columns, const std::function<void(sim::CsvRow&)>& visit);

// A step function of time, thinned out for a figure.

/// Holds from its date until the next sample's.
template <std::size_t quantities>
struct StepSample {
  double time_s = 0;
  std::array<double, quantities> values{};
};

/// The samples themselves while they are at most `most`; else `most` steps of equal length with the means over time. Samples are
/// in order of time; the last one's value holds for no time.
template <std::size_t quantities>
std::vector<StepSample<quantities>> step_means(const std::vector<StepSample<quantities>>& samples, std::size_t most) {
  if (samples.size() <= most) return samples;
  const double first_s = samples.front().time_s, step_s = (samples.back().time_s - first_s) / static_cast<double>(most);
  std::vector<StepSample<quantities>> means(most);
  std::size_t at = 0;
  for (std::size_t m = 0; m < most; ++m) {
    const double begin_s = first_s + static_cast<double>(m) * step_s;
    const double end_s = m + 1 == most ? samples.back().time_s : first_s + static_cast<double>(m + 1) * step_s;
    means[m].time_s = begin_s;
    for (double from_s = begin_s; from_s < end_s;) {
      while (at + 1 < samples.size() && samples[at + 1].time_s <= from_s) ++at;
      const double to_s = at + 1 < samples.size() && samples[at + 1].time_s < end_s ? samples[at + 1].time_s : end_s;
      for (std::size_t q = 0; q < quantities; ++q)
        means[m].values[q] += samples[at].values[q] * (to_s - from_s) / (end_s - begin_s);
      from_s = to_s;
    }
  }
  return means;
}

}  // namespace rehearse::report
