#include "sim/io/seal.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"

namespace rehearse::sim {

namespace {

constexpr std::string_view kSealBegin = ",\n  \"sha256\": \"", kSealEnd = "\"\n}\n", kObjectEnd = "\n}\n";
constexpr std::size_t kDigits = 64;

/// The first digits tell two sums apart.
std::string words(const FileSum& sum) {
  return fmt::format("{} bytes with the SHA-256 {}...", sum.bytes, sum.sha256.substr(0, 12));
}

[[noreturn]] void refuse_change(const std::string& file, const std::string& expected, const std::string& repair,
                                const std::string& found) {
  throw InputError({.file = file, .expected = fmt::format("{}, as Rehearse wrote it ({})", expected, repair), .found = found});
}

}  // namespace

FileSum sum_of_file(const std::string& path) {
  const InputFile file(path);
  return {.bytes = file.bytes(), .sha256 = sha256_of_file(path)};
}

std::string json_members(const FileSum& sum) { return fmt::format(R"("bytes": {}, "sha256": "{}")", sum.bytes, sum.sha256); }

void check_file(const std::string& path, const FileSum& expected, const std::string& repair) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) refuse_change(path, words(expected), repair, "no file");
  if (!S_ISREG(status.st_mode)) refuse_change(path, words(expected), repair, "no regular file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes != expected.bytes) refuse_change(path, fmt::format("{} bytes", expected.bytes), repair, fmt::format("{}", bytes));
  if (const FileSum found = sum_of_file(path); found.sha256 != expected.sha256)
    refuse_change(path, words(expected), repair, fmt::format("{}...", found.sha256.substr(0, 12)));
}

std::string sealed(std::string object) {
  check(object.ends_with(kObjectEnd), "a JSON object of several lines is sealed");
  object.resize(object.size() - kObjectEnd.size());
  const std::string sum = sha256_of_text(object);
  return fmt::format("{}{}{}{}", object, kSealBegin, sum, kSealEnd);
}

std::string unsealed(std::string object, const std::string& file, const std::string& repair) {
  const std::size_t seal = kSealBegin.size() + kDigits + kSealEnd.size();
  if (object.size() < seal || !object.ends_with(kSealEnd)) return object;
  const std::string_view tail = std::string_view(object).substr(object.size() - seal);
  if (!tail.starts_with(kSealBegin)) return object;
  const std::string expected(tail.substr(kSealBegin.size(), kDigits));
  object.resize(object.size() - seal);
  if (const std::string found = sha256_of_text(object); found != expected)
    refuse_change(file, fmt::format("a text with the SHA-256 {}... at its end", expected.substr(0, 12)), repair,
                  fmt::format("{}...: it was changed or damaged", found.substr(0, 12)));
  return object += kObjectEnd;
}

}  // namespace rehearse::sim
