#include "sim/io/sha256.hpp"

#include <sha2.h>

#include <array>
#include <vector>

#include "sim/io/file.hpp"

namespace rehearse::sim {

std::string sha256_of_file(const std::string& path) {
  InputFile file(path);
  SHA2_CTX state;
  SHA256Init(&state);
  std::vector<char> buffer(std::size_t{1} << 18);
  while (const std::size_t got = file.read(buffer.data(), buffer.size()))
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(buffer.data()), got);
  std::array<char, SHA256_DIGEST_STRING_LENGTH> digits{};
  SHA256End(&state, digits.data());
  return digits.data();
}

std::string sha256_of_text(std::string_view text) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> digits{};
  SHA256Data(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), digits.data());
  return digits.data();
}

}  // namespace rehearse::sim
