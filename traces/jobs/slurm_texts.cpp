#include "traces/jobs/slurm_texts.hpp"

#include <charconv>
#include <cmath>

#include "traces/jobs/mig.hpp"

namespace rehearse::traces {

std::vector<std::string_view> fields_between(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos;) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + separator.size());
  }
  return parts;
}

std::optional<double> slurm_number(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size() || !(x >= 0 && x <= 0x1p53)) return std::nullopt;
  return x;
}

namespace {

/// A number, times 1,024 for each letter up to the one behind it.
std::optional<double> slurm_scaled(std::string_view text, std::string_view letters) {
  const std::size_t letter = text.empty() ? letters.npos : letters.find(text.back());
  if (letter != letters.npos) text.remove_suffix(1);
  const auto number = slurm_number(text);
  if (!number || letter == letters.npos) return number;
  return *number * std::pow(1024.0, static_cast<double>(letter + 1));
}

}  // namespace

std::optional<double> slurm_count(std::string_view text) { return slurm_scaled(text, "KM"); }

std::optional<double> slurm_seconds(std::string_view text) {
  double days = 0;
  const std::size_t dash = text.find('-');
  if (dash != text.npos) {
    const auto count = slurm_number(text.substr(0, dash));
    if (!count) return std::nullopt;
    days = *count;
    text.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = fields_between(text, ":");
  if (parts.size() > 3 || (dash == text.npos && parts.size() < 2)) return std::nullopt;
  double seconds = 0;
  for (const std::string_view part : parts) {
    const auto number = slurm_number(part);
    if (!number) return std::nullopt;
    seconds = 60 * seconds + *number;
  }
  if (dash != text.npos) seconds *= std::pow(60.0, static_cast<double>(3 - parts.size()));
  return 86400 * days + seconds;
}

std::optional<double> slurm_memory_bytes(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool has_unit = std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  const auto bytes = slurm_scaled(text, "KMGTPE");
  return bytes && !has_unit ? std::optional(*bytes * 0x1p20) : bytes;
}

std::string_view slurm_tres(std::string_view tres, std::string_view name) {
  for (const std::string_view one : fields_between(tres, ","))
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=') return one.substr(name.size() + 1);
  return {};
}

namespace {

struct Units {
  double count = 0;
  std::string_view type;  ///< empty: all of them, whatever their types
};

/// "gres/gpu=2", "gres/gpu:a100=2".
std::optional<Units> tres_units(std::string_view item, std::string_view name) {
  for (const std::string_view prefix : {"gres/", "gres:"})
    if (item.starts_with(prefix)) item.remove_prefix(prefix.size());
  if (!item.starts_with(name)) return std::nullopt;
  item.remove_prefix(name.size());
  const std::size_t equals = item.rfind('=');
  if (equals == item.npos || (equals > 0 && item.front() != ':')) return std::nullopt;
  return Units{.count = slurm_count(item.substr(equals + 1)).value_or(0),
               .type = equals > 0 ? item.substr(1, equals - 1) : std::string_view()};
}

/// "gpu", "gpu:2", "gpu:a100", "gpu:a100:2(IDX:0-1)", "gpu:(null):2".
std::optional<Units> gres_units(std::string_view item, std::string_view name) {
  for (const std::string_view prefix : {"gres/", "gres:"})
    if (item.starts_with(prefix)) item.remove_prefix(prefix.size());
  if (!item.starts_with(name)) return std::nullopt;
  item.remove_prefix(name.size());
  constexpr std::string_view kNoType = ":(null)";
  if (item.starts_with(kNoType)) item.remove_prefix(kNoType.size());
  item = item.substr(0, item.find('('));
  if (item.empty()) return Units{.count = 1, .type = {}};
  if (item.front() != ':') return std::nullopt;
  item.remove_prefix(1);
  const std::size_t colon = item.rfind(':');
  const auto count = slurm_count(colon == item.npos ? item : item.substr(colon + 1));
  if (colon != item.npos) return Units{.count = count.value_or(0), .type = item.substr(0, colon)};
  return count ? Units{.count = *count, .type = {}} : Units{.count = 1, .type = item};
}

/// At commas outside of brackets.
std::vector<std::string_view> resource_items(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '(' || text[i] == '[')) ++depth;
    if (i < text.size() && (text[i] == ')' || text[i] == ']')) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    items.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return items;
}

}  // namespace

void SlurmGpus::add(const SlurmGpus& other) {
  is_mixed = is_mixed || other.is_mixed || (units > 0 && other.units > 0 && gpus * other.units != other.gpus * units);
  units += other.units;
  gpus += other.gpus;
  is_shared = is_shared || other.is_shared;
  needs_nodes = needs_nodes || other.needs_nodes;
}

SlurmGpus slurm_gpus(std::string_view resources, double nodes) {
  SlurmGpus typed;
  double all = 0;  // the typed ones too
  for (const std::string_view item : resource_items(resources)) {
    const bool is_tres = item.find('=') != item.npos;
    const auto units = [&](std::string_view name) { return is_tres ? tres_units(item, name) : gres_units(item, name); };
    for (const std::string_view name : {"shard", "mps"})
      if (const auto shared = units(name); shared && shared->count > 0) typed.is_shared = true;
    const auto found = units("gpu");
    if (!found || found->count == 0) continue;
    if (!is_tres && std::isnan(nodes)) typed.needs_nodes = true;
    const double count = found->count * (is_tres ? 1 : std::isnan(nodes) ? 0 : nodes);
    if (found->type.empty())
      all += count;
    else
      typed.add({.units = count, .gpus = count * mig_fraction(found->type).value_or(1)});
  }
  if (all > typed.units) typed.add({.units = all - typed.units, .gpus = all - typed.units});
  return typed;
}

}  // namespace rehearse::traces
