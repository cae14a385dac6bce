#include "experiments/run/interrupted_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/seal.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

constexpr const char* kIdentityFile = "unfinished.json";
constexpr const char* kMark = "finished.json";

/// A repetition of less processor time, s, is sooner done again than synced with its mark and its folder.
constexpr double kWorthSyncing = 0.1;

/// There under its name only when it is whole, wherever the process ends; with `is_synced`, wherever the machine does.
void write_at_once(const std::string& path, const std::string& text, bool is_synced) {
  const std::string half = path + ".half";
  auto file = sim::OutputFile::in_place(half);
  file.write(text);
  file.close();
  if (is_synced) sim::sync_path(half);
  if (!sim::rename_path(half, path))
    throw sim::InputError({.file = path, .expected = "a file that can be written", .found = std::strerror(errno)});
  if (is_synced) sim::sync_path(fs::path(path).parent_path());
}

/// Names of the files of a repetition but its mark.
std::set<std::string> files_in(const std::string& subfolder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(subfolder))
    if (entry.is_regular_file() && entry.path().filename() != kMark) names.insert(entry.path().filename());
  return names;
}

/// By key, as text: members of the scenario, or the fingerprint of each file.
std::map<std::string, std::string> members_of(const sim::JsonValue& object, std::string_view only_below = {}) {
  std::map<std::string, std::string> members;
  for (const sim::JsonMember member : object.members()) {
    if (only_below.empty() && member.key.text() != "sha256") members.emplace(member.key.text(), member.value.json());
    if (!only_below.empty() && member.key.text() == only_below) return members_of(member.value);
  }
  return members;
}

/// Keys that are in one alone, or have another value.
std::vector<std::string> differing(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  std::set<std::string> keys;
  for (const auto& [key, value] : a)
    if (const auto at = b.find(key); at == b.end() || at->second != value) keys.insert(key);
  for (const auto& [key, value] : b)
    if (!a.contains(key)) keys.insert(key);
  std::vector<std::string> shown;
  for (const std::string& key : keys) shown.push_back(sim::shown(key));
  return shown;
}

/// GNU's build identifier among a segment's notes: hexadecimal, cut to 16 digits.
std::string build_in(const char* notes, std::size_t bytes) {
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes + at, sizeof head);
    const std::size_t name = at + sizeof head, value = name + padded(head.n_namesz), next = value + padded(head.n_descsz);
    if (next > bytes) break;
    if (head.n_type == NT_GNU_BUILD_ID && std::string_view(notes + name, head.n_namesz) == std::string_view("GNU", 4)) {
      std::string digits;
      for (std::size_t i = 0; i < std::min<std::size_t>(head.n_descsz, 8); ++i)
        digits += fmt::format("{:02x}", static_cast<unsigned char>(notes[value + i]));
      return digits;
    }
    at = next;
  }
  return {};
}

/// Of the first object that is loaded: the program.
int build_of_program(dl_phdr_info* object, std::size_t, void* into) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::string build = build_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!build.empty()) *static_cast<std::string*>(into) = build;
  }
  return 1;
}

}  // namespace

std::string this_program() {
  std::string build;
  dl_iterate_phdr(build_of_program, &build);
  return fmt::format("{}{}", sim::program_version(), build.empty() ? "" : fmt::format(" (build {})", build));
}

void write_identity(const std::string& part, const RunIdentity& run) {
  write_at_once(part + "/" + kIdentityFile,
                fmt::format("{{\n  \"version\": {},\n  \"repetitions\": {},\n  \"scenario\": {}}}\n",
                            sim::json_string(run.version), run.repetitions, run.scenario),
                true);
}

void remove_identity(const std::string& part) {
  std::error_code ignored;
  fs::remove(part + "/" + kIdentityFile, ignored);
}

std::optional<RunIdentity> read_identity(const std::string& part) {
  const std::string path = part + "/" + kIdentityFile;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  RunIdentity run{.version = in.text("version"), .repetitions = static_cast<int>(in.integer("repetitions", sim::at_least(0)))};
  if (const auto scenario = in.required("scenario", "a scenario")) run.scenario = scenario->json();
  mistakes.throw_if_any();
  return run;
}

std::string difference(const RunIdentity& there, const RunIdentity& now) {
  std::vector<std::string> parts;
  if (there.version != now.version) parts.push_back(fmt::format("program version {}, not {}", there.version, now.version));
  const sim::JsonDocument a = sim::parse_json(there.scenario, "the interrupted run's scenario"),
                          b = sim::parse_json(now.scenario, "the scenario");
  const std::vector<std::string> keys = differing(members_of(a.root()), members_of(b.root()));
  if (!keys.empty()) parts.push_back(fmt::format("another {} of the scenario", fmt::join(keys, ", ")));
  const std::vector<std::string> files = differing(members_of(a.root(), "sha256"), members_of(b.root(), "sha256"));
  if (!files.empty()) parts.push_back(fmt::format("another content of {}", fmt::join(files, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

void mark_finished(const std::string& subfolder, const RepetitionCost& cost) {
  const bool is_synced = cost.cpu_s >= kWorthSyncing;
  std::string files;
  for (const std::string& name : files_in(subfolder)) {
    const std::string path = subfolder + "/" + name;
    if (is_synced) sim::sync_path(path);
    files +=
        fmt::format("{}\n    {}: {{{}}}", files.empty() ? "" : ",", sim::json_string(name), json_members(sim::sum_of_file(path)));
  }
  write_at_once(subfolder + "/" + kMark,
                sim::sealed(fmt::format(
                    "{{\n  \"repetition\": {},\n  \"run_cpu_s\": {},\n  \"max_rss_bytes\": {},\n  \"files\": {{{}\n  }}\n}}\n",
                    sim::json_string(fs::path(subfolder).filename().string()), cost.cpu_s, cost.max_rss_bytes, files)),
                is_synced);
}

void unmark(const std::string& subfolder) {
  std::error_code ignored;
  fs::remove(subfolder + "/" + kMark, ignored);
}

namespace {

struct Mark {
  RepetitionCost cost;
  std::string repetition;
  std::map<std::string, sim::FileSum> files;
};

Mark read_mark(const std::string& path, const std::string& repair) {
  const sim::JsonDocument document = sim::parse_json(sim::unsealed(sim::read_file(path, sim::kMaxJsonBytes), path, repair), path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  Mark mark{
      .cost = {.cpu_s = in.number("run_cpu_s", sim::at_least(0)), .max_rss_bytes = in.number("max_rss_bytes", sim::at_least(0))},
      .repetition = in.text("repetition"),
      .files = {}};
  if (const auto files = in.required("files", "an object of sums"))
    for (const sim::JsonMember file : files->members()) {
      sim::ObjectReader sum(file.value, mistakes);
      mark.files[std::string(file.key.text())] = {.bytes = static_cast<std::uint64_t>(sum.integer("bytes", sim::at_least(0))),
                                                  .sha256 = sum.text("sha256")};
    }
  in.finish();
  mistakes.throw_if_any();
  return mark;
}

}  // namespace

std::optional<RepetitionCost> finished(const std::string& subfolder) {
  const std::string path = subfolder + "/" + kMark;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const std::string repair = fmt::format("after rm -r {} the same command with --resume runs this repetition again", subfolder);
  const auto refuse = [&](const std::string& file, const std::string& expected, const std::string& found) {
    throw sim::InputError({.file = file, .expected = fmt::format("{} ({})", expected, repair), .found = found});
  };
  Mark mark;
  try {
    mark = read_mark(path, repair);
  } catch (const sim::InputError& damage) {
    refuse(path, "the mark of a finished repetition, as Rehearse wrote it", damage.what());
  }
  const std::string name = fs::path(subfolder).filename().string();
  if (mark.repetition != name) refuse(path, "the mark of " + name, "that of " + sim::printable(mark.repetition));
  for (const std::string& file : files_in(subfolder))
    if (!mark.files.contains(file)) refuse(subfolder + "/" + file, "only files that the repetition has written", "another");
  for (const auto& [file, sum] : mark.files) sim::check_file(subfolder + "/" + file, sum, repair);
  return mark.cost;
}

std::set<std::string> finished_in(const std::string& part) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(part, error), end; !error && it != end; it.increment(error))
    if (fs::exists(it->path() / kMark, error)) names.insert(it->path().filename().string());
  return names;
}

void keep_finished(const std::string& part) {
  std::vector<fs::path> gone;
  std::error_code error;
  for (fs::directory_iterator it(part, error), end; !error && it != end; it.increment(error))
    if (it->path().filename() != kIdentityFile && !fs::exists(it->path() / kMark, error)) gone.push_back(it->path());
  for (const fs::path& path : gone) fs::remove_all(path, error);
}

}  // namespace rehearse::scenarios
