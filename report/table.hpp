// A table that a study leaves: a CSV file, a list in summary.json, and text on the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rehearse::report {

/// NaN and infinity are "undefined": an empty field, null, "-".
using Cell = std::variant<double, std::string>;

struct Column {
  std::string name;         ///< in files, with the unit as its ending: step_s (docs/reference/metrics.md)
  std::string heading;      ///< on the terminal; empty: not shown there
  std::string format = {};  ///< of a number on the terminal (fmt); empty: four digits, as people read them (sim::figure)
};

struct Table {
  std::string name;   ///< of the CSV file, without its ending; empty: the table is only shown
  std::string title;  ///< one line above it on the terminal; empty: the table is only written
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< as many cells as columns
};

/// Throws sim::InputError when the file cannot be written.
void write_csv(const std::string& path, const Table& table);
/// A JSON list with an object for each row.
std::string table_json(const Table& table);
inline constexpr std::size_t kTerminalWidth = 100;  ///< where nobody says otherwise

/// For a terminal; empty when the table is only written.
std::string table_text(const Table& table, std::size_t width = kTerminalWidth);
/// The same without its title.
std::string aligned(const Table& table, std::size_t width = kTerminalWidth);

/// What a line on a terminal says by its colour; its words say it too.
enum class Tone : std::uint8_t { plain, best, failed, broken };

/// In the tone's colour, from here to the end of the text.
std::string painted(std::string_view text, Tone tone);
/// The sequences that painted() puts into a text: a terminal may get these as they are.
const std::vector<std::string_view>& colour_sequences();

/// Rows of text in columns, a line under the first row. Columns are flush right unless `left` says otherwise. A row with fewer
/// cells than the first does not widen its columns. What is wider than `width` goes on in further blocks below, each of which
/// has the columns that tell the rows apart, if three quarters of the width hold them, else the first. Rows with fewer cells stand
/// in the first block alone. `tones`: of each row; empty: all plain.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left,
                    const std::vector<Tone>& tones = {}, std::size_t width = kTerminalWidth);

/// A number in JSON: null when it is not finite.
std::string json_number(double value);

}  // namespace rehearse::report
