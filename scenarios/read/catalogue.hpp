// Devices, instances and software stacks by name: the program's own catalogue, then catalogue files, then what a scenario defines
// itself. A later entry of the same name overrides an earlier one; the same name twice in one place is a mistake.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/io/json.hpp"

namespace rehearse::scenarios {

/// An instance type as it is written down: devices by name.
struct InstanceEntry {
  sim::Instance instance;  ///< `gpus` and `cpu` not yet set
  struct Named {
    std::string device;
    int count = 1;
    std::string file, pointer;  ///< for messages
    std::int64_t line = 0, column = 0;
  };
  std::vector<Named> devices;
  bool has_price = false;
  bool has_overlap = false;
  std::string provider;  ///< who rents it out; "own": nobody does; empty: unsaid
  std::string region;    ///< in which the prices hold; empty: unsaid
};

/// Whether a text is a year, a month or a day of the calendar, as 2026, 2026-03 or 2026-03-20.
bool is_price_date(std::string_view text);

/// "2022-12 to 2026-05-18": oldest to newest of the dates of prices; empty ones are said to be unsaid. Empty: of none.
std::string date_range(const std::vector<std::string>& dates);
std::string price_dates(const std::vector<const InstanceEntry*>& entries);

/// In the place of a stack's name: devices as data sheets have them.
inline constexpr const char* kNoStack = "none";

class Catalogue {
 public:
  /// Takes "devices", "instances" and "stacks", any of which may be missing. Records mistakes and goes on.
  void add(sim::JsonValue object_with_lists, sim::Mistakes& mistakes);
  /// As add(), of a file of nothing but these lists. Throws InputError when it cannot be read.
  void add_file(const std::string& path, sim::Mistakes& mistakes);
  /// In the place of the device of that name, which must be there.
  void replace(sim::Device device);
  /// In the place of the instance of that name, or behind all others.
  void replace_or_add(InstanceEntry entry);
  /// The program's own devices, instances and stacks; before anything else is added.
  void add_own();
  /// Devices become what they are on the stack (sim::on_stack), and instances overlap as it does unless they say how.
  void use_stack(const sim::Stack& stack);

  const std::vector<sim::Device>& devices() const { return devices_; }
  const std::vector<InstanceEntry>& instances() const { return instances_; }
  const std::vector<sim::Stack>& stacks() const { return stacks_; }
  std::vector<std::string> device_names() const;
  std::vector<std::string> instance_names() const;
  std::vector<std::string> stack_names() const;
  const InstanceEntry* find_instance(std::string_view name) const;
  const sim::Device* find_device(std::string_view name) const;
  const sim::Stack* find_stack(std::string_view name) const;

 private:
  std::vector<sim::Device> devices_;
  std::vector<InstanceEntry> instances_;
  std::vector<sim::Stack> stacks_;
};

/// Of a pool whose instance has a mistake.
inline constexpr int kNoInstance = -1;

/// Appends the instance and the devices it uses to the cluster, and returns its index; kNoInstance after a mistake. A CPU of
/// which it owns a part becomes a device of its own with that part of the cores, arithmetic and bandwidth. Devices that nobody
/// knows are mistakes.
int add_to_cluster(const InstanceEntry& entry, const Catalogue& catalogue, sim::Cluster& cluster, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
