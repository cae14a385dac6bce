#include "traces/jobs/pod_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/io/object_reader.hpp"
#include "traces/jobs/mig.hpp"

namespace rehearse::traces {

namespace {

/// The API's quantities: "2", "500m", "8Gi", "1e3" (Kubernetes' documentation, "Quantity"). Nothing for any other text.
std::optional<double> quantity(std::string_view text) {
  constexpr std::pair<std::string_view, double> kSuffixes[] = {
      {"", 1},     {"n", 1e-9}, {"u", 1e-6},    {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
      {"P", 1e15}, {"E", 1e18}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, factor] : kSuffixes)
    if (suffix == name) return number * factor;
  return std::nullopt;
}

/// Devices have a vendor's name before a slash; Kubernetes' own, like attachable volumes, are none.
bool is_device(std::string_view name) { return name.find('/') != name.npos && name.find("kubernetes.io/") == name.npos; }

/// Of a resource; 1 for a whole GPU, nothing for what is none.
std::optional<double> part_of_gpu(std::string_view name) {
  if (name.ends_with("/gpu")) return 1;
  return name.find("/mig-") != name.npos ? mig_fraction(name) : std::nullopt;
}

/// What one container asks for, or a pod as a whole: what it is limited to where it says no more.
PodResources request_of(sim::JsonValue container, sim::Mistakes& mistakes) {
  PodResources asked;
  const auto resources = sim::ObjectReader(container, mistakes).child("resources");
  if (!resources || !resources->is_object()) return asked;
  sim::ObjectReader in(*resources, mistakes);
  for (const char* kind : {"limits", "requests"})
    if (const auto amounts = in.child(kind)) asked.replace(*amounts, mistakes);
  return asked;
}

}  // namespace

void PodResources::replace(sim::JsonValue resources, sim::Mistakes& mistakes) {
  for (const sim::JsonMember one : resources.members()) {
    const std::string_view name = one.key.text();
    if (name != "cpu" && name != "memory" && !is_device(name)) continue;
    const sim::JsonValue value = one.value;
    const auto amount = value.is_string()                          ? quantity(value.text())
                        : value.is_number() && value.number() >= 0 ? std::optional(value.number())
                                                                   : std::nullopt;
    if (amount)
      amounts_[std::string(name)] = *amount;
    else
      value.refuse("a quantity like 2, 500m or 8Gi", mistakes);
  }
}

void PodResources::replace(const PodResources& other) {
  for (const auto& [name, amount] : other.amounts_) amounts_[name] = amount;
}

void PodResources::add(const PodResources& other, double times) {
  for (const auto& [name, amount] : other.amounts_) amounts_[name] += amount * times;
}

void PodResources::raise(const PodResources& other) {
  for (const auto& [name, amount] : other.amounts_) {
    double& own = amounts_[name];
    own = std::max(own, amount);
  }
}

double PodResources::of(std::string_view name) const {
  const auto found = amounts_.find(name);
  return found != amounts_.end() ? found->second : 0;
}

PodGpus PodResources::gpus() const {
  std::map<double, double> count;  // by part
  double sum = 0;
  for (const auto& [name, amount] : amounts_) {
    const auto part = part_of_gpu(name);
    if (!part || amount <= 0) continue;
    if (*part == 1 && amount != std::floor(amount)) return {.places = amount};
    count[*part] += amount;
    sum += *part * amount;
  }
  if (count.empty()) return {};
  if (count.size() == 1) return {.places = count.begin()->second, .fraction = count.begin()->first};
  const double places = std::ceil(sum);
  return {.places = places, .fraction = sum / places, .mixed = true};
}

std::string PodResources::devices() const {
  std::vector<std::string> found;
  for (const auto& [name, amount] : amounts_)
    if (is_device(name)) found.push_back(fmt::format("{}: {}", name, amount));
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

PodResources pod_request(sim::JsonValue spec, sim::Mistakes& mistakes) {
  sim::ObjectReader in(spec, mistakes);
  PodResources all, sidecars, starting;
  for (const sim::JsonValue container : in.list("initContainers")) {
    const PodResources own = request_of(container, mistakes);
    if (sim::ObjectReader(container, mistakes).maybe_text("restartPolicy") == "Always") {
      sidecars.add(own, 1);
      starting.raise(sidecars);
    } else {
      PodResources together = sidecars;
      together.add(own, 1);
      starting.raise(together);
    }
  }
  for (const sim::JsonValue container : in.list("containers")) all.add(request_of(container, mistakes), 1);
  all.add(sidecars, 1);
  all.raise(starting);
  all.replace(request_of(spec, mistakes));
  if (const auto overhead = in.child("overhead")) {
    PodResources more;
    more.replace(*overhead, mistakes);
    all.add(more, 1);
  }
  return all;
}

}  // namespace rehearse::traces
