#include "traces/architectures/cell_table.hpp"

#include "sim/io/csv.hpp"

namespace rehearse::traces {

CellTable read_cell_table(const std::string& path, const CellColumns& columns) {
  std::vector<std::string> required{"arch_str", columns.accuracy};
  required.insert(required.end(), columns.latency.begin(), columns.latency.end());
  sim::CsvReader reader(path, {.required = required});
  CellTable table{.accuracy = std::vector<double>(workloads::kNasCells),
                  .latency_s = std::vector(columns.latency.size(), std::vector<double>(workloads::kNasCells))};
  std::vector<bool> seen(workloads::kNasCells);
  std::size_t cells = 0;
  sim::Mistakes mistakes;
  while (sim::CsvRow* row = reader.next()) {
    const auto cell = workloads::parse_nas_cell(row->text("arch_str"));
    const std::size_t index = cell ? workloads::nas_cell_index(*cell) : 0;
    if (!cell)
      row->refuse("arch_str", "a cell: |op~0|+|op~0|op~1|+|op~0|op~1|op~2|");
    else if (seen[index])
      row->refuse("arch_str", "each cell once");
    table.accuracy[index] = row->number(columns.accuracy, sim::between(0, 100)) / 100;
    for (std::size_t c = 0; c < columns.latency.size(); ++c)
      table.latency_s[c][index] = row->number(columns.latency[c], sim::above(0)) / 1000;
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    cells += cell && !seen[index] ? 1 : 0;
    seen[index] = true;
  }
  mistakes.throw_if_any();
  if (cells != workloads::kNasCells)
    throw sim::InputError(sim::Mistake{.file = path,
                                       .expected = "all " + std::to_string(workloads::kNasCells) + " cells of NAS-Bench-201",
                                       .found = std::to_string(cells)});
  return table;
}

}  // namespace rehearse::traces
