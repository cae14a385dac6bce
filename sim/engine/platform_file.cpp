#include "sim/engine/platform_file.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <tuple>

#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/simgrid_setup.hpp"

namespace rehearse::sim {
namespace {

namespace s4u = simgrid::s4u;

constexpr rlim_t kMostMemory = rlim_t{4} << 30;  // bytes, beside what the process has
#ifdef __SANITIZE_ADDRESS__
constexpr rlim_t kMostTime = 10;  // seconds; they must do, as AddressSanitizer's shadow takes all addresses that there are
#else
constexpr rlim_t kMostTime = 60;  // seconds
#endif
constexpr double kMostHosts = 1e6;      // nodes of a pool
constexpr std::size_t kMostZones = 16;  // that the widest way of a zone is looked for to

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using Links = std::vector<s4u::Link*>;

Links way(const s4u::Host* from, const s4u::Host* to, double* latency_s) {
  Links links;
  *latency_s = 0;
  from->route_to(to, links, latency_s);
  return links;
}

/// Of the narrowest link that is neither the first nor the last: those are the hosts' cards.
double middle(const Links& links) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t l = 1; l + 1 < links.size(); ++l) least = std::min(least, links[l]->get_bandwidth());
  return least;
}

/// A record a line, tabs between its fields: "zone NAME UPLINK", "host NAME ZONE FLOPS CORES CARD LATENCY", "property KEY VALUE"
/// of the host before.
std::string described() {
  std::vector<s4u::Host*> hosts = s4u::Engine::get_instance()->get_all_hosts();
  const auto by_name = [](const s4u::Host* a, const s4u::Host* b) {
    return std::make_tuple(a->get_name().size(), std::string_view(a->get_name())) <
           std::make_tuple(b->get_name().size(), std::string_view(b->get_name()));
  };
  std::sort(hosts.begin(), hosts.end(), by_name);
  std::map<std::string, std::vector<s4u::Host*>> zones;
  for (s4u::Host* host : hosts) zones[host->get_englobing_zone()->get_name()].push_back(host);
  std::string text;
  double latency_s = 0;
  for (const auto& [name, in_it] : zones) {
    double widest = 0;
    std::size_t seen = 0;
    for (const auto& [other, in_other] : zones)
      if (other != name && seen++ < kMostZones)
        widest = std::max(widest, middle(way(in_it.front(), in_other.front(), &latency_s)));
    text += fmt::format("zone\t{}\t{}\n", name, seen == 0 ? std::numeric_limits<double>::infinity() : widest);
  }
  for (const s4u::Host* host : hosts) {
    const std::string& zone = host->get_englobing_zone()->get_name();
    const std::vector<s4u::Host*>& neighbours = zones.at(zone);
    const s4u::Host* other = neighbours.size() > 1 ? neighbours[neighbours[0] == host ? 1 : 0] : nullptr;
    for (const s4u::Host* any : hosts)
      if (other == nullptr && any != host) other = any;
    const Links links = other == nullptr ? Links() : way(host, other, &latency_s);
    text += fmt::format("host\t{}\t{}\t{}\t{}\t{}\t{}\n", host->get_name(), zone, host->get_speed(), host->get_core_count(),
                        links.empty() ? 0 : links.front()->get_bandwidth(), links.empty() ? 0 : latency_s);
    const auto* properties = host->get_properties();
    for (const auto& [key, value] : std::map<std::string, std::string>(properties->begin(), properties->end()))
      text += fmt::format("property\t{}\t{}\n", key, value);
  }
  return text;
}

/// SimGrid takes them.
void refuse_what_goes_backwards() {
  for (const s4u::Link* link : s4u::Engine::get_instance()->get_all_links())
    check(link->get_bandwidth() > 0, "link " + link->get_name() + " has no bandwidth");
  for (const s4u::Host* host : s4u::Engine::get_instance()->get_all_hosts())
    check(host->get_speed() > 0, "host " + host->get_name() + " has no speed");
}

void limit(int resource, rlim_t most) {
  const rlimit limits{most, most};
  setrlimit(resource, &limits);
}

double number(std::string_view text) {
  double value = 0;
  if (text == "inf") return std::numeric_limits<double>::infinity();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t tab = std::min(line.find('\t', from), line.size());
    fields.emplace_back(line.substr(from, tab - from));
    from = tab + 1;
  }
  return fields;
}

Platform understood(std::string_view text) {
  Platform platform;
  std::map<std::string, int> zone_of;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    const std::vector<std::string> f = fields_of(text.substr(from, end - from));
    from = end + 1;
    if (f[0] == "zone" && f.size() == 3) {
      zone_of[f[1]] = static_cast<int>(platform.zones.size());
      platform.zones.push_back({.name = f[1], .uplink_bytes_per_s = number(f[2])});
    } else if (f[0] == "host" && f.size() == 7) {
      platform.hosts.push_back({.name = f[1],
                                .zone = zone_of.at(f[2]),
                                .core_flops = number(f[3]),
                                .cores = whole<int>(number(f[4]), "cores of host " + f[1]),
                                .card_bytes_per_s = number(f[5]),
                                .latency_s = number(f[6]),
                                .properties = {}});
    } else if (f[0] == "property" && f.size() == 3 && !platform.hosts.empty()) {
      platform.hosts.back().properties[f[1]] = f[2];
    }  // names with tabs or line ends are no names of ours: such a property is left out
  }
  return platform;
}

/// Hosts of all clusters: "0-15,20" are 17. What is no list of whole numbers is SimGrid's to refuse.
double hosts_in_radicals(std::string_view xml) {
  constexpr std::string_view kRadical = "radical=";
  double hosts = 0;
  for (std::size_t at = xml.find(kRadical); at != xml.npos; at = xml.find(kRadical, at)) {
    at += kRadical.size();
    if (at >= xml.size()) break;
    std::string_view list = xml.substr(at + 1, std::min(xml.find(xml[at], at + 1), xml.size()) - at - 1);
    while (!list.empty()) {
      const std::string_view part = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), part.size() + 1));
      const std::size_t dash = std::min(part.find('-'), part.size());
      hosts += dash == part.size() ? 1 : std::max(0.0, number(part.substr(dash + 1)) - number(part.substr(0, dash)) + 1);
    }
  }
  return hosts;
}

/// Before SimGrid makes them all.
void refuse_too_many_hosts(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return;  // a pipe is read once
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  const double hosts = hosts_in_radicals(text.view());
  if (hosts > kMostHosts)
    throw InputError({.file = path,
                      .expected = fmt::format("a platform of at most {:.0f} hosts", kMostHosts),
                      .found = fmt::format("clusters of {:.0f}", hosts)});
}

/// What was thrown, or what SimGrid wrote before it died: the first line that is not empty, without its head.
std::string said(std::string_view thrown, std::FILE* file) {
  constexpr std::string_view kThrown = "in a child: ";
  if (const std::size_t at = thrown.find(kThrown); at != std::string_view::npos) {
    thrown.remove_prefix(at + kThrown.size());
    return std::string(thrown.substr(0, thrown.find('\n')));
  }
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    from = end + 1;
    if (const std::size_t head = line.find("] "); line.starts_with("[") && head != std::string::npos) line.erase(0, head + 2);
    if (!line.empty()) return line;
  }
  return "one that SimGrid cannot read";
}

}  // namespace

Platform read_platform(const std::string& path) {
  const InputError unreadable({.file = path, .expected = "a readable file", .found = "no such file"});
  if (access(path.c_str(), R_OK) != 0) throw unreadable;
  refuse_too_many_hosts(path);
  const std::unique_ptr<std::FILE, Closer> messages(std::tmpfile());
  check(messages != nullptr, "a temporary file could not be made");
  Platform platform;
  try {
    platform = understood(in_child([&] {
      limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
      limit(RLIMIT_AS, kMostMemory);
#endif
      limit(RLIMIT_CPU, kMostTime);
      dup2(fileno(messages.get()), STDERR_FILENO);
      SimGridEngine& engine = *new SimGridEngine;  // left to the end of the process
      (*engine).load_platform(path);
      refuse_what_goes_backwards();
      return described();
    }));
  } catch (const MemoryExhausted&) {
    throw InputError({.file = path,
                      .expected = fmt::format("a platform that SimGrid reads with {} GB of memory", kMostMemory >> 30),
                      .found = "one that takes more"});
  } catch (const CheckFailed& error) {
    throw InputError({.file = path, .expected = "a platform of SimGrid's in XML", .found = said(error.what(), messages.get())});
  }
  if (platform.hosts.empty()) throw InputError({.file = path, .expected = "a platform with hosts", .found = "none"});
  return platform;
}

}  // namespace rehearse::sim
