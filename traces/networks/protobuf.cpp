#include "traces/networks/protobuf.hpp"

namespace rehearse::traces {

std::optional<std::uint64_t> next_packed(std::string_view& packed) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !packed.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(packed.front());
    packed.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ProtobufReader::varint() { return next_packed(rest_); }

std::optional<std::uint64_t> ProtobufReader::fixed(std::size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (rest_.empty() || damaged_) return std::nullopt;
  const auto tag = varint();
  const unsigned wire = tag ? static_cast<unsigned>(*tag & 7) : 7;
  ProtobufField field{.number = tag ? static_cast<std::uint32_t>(*tag >> 3) : 0};
  std::optional<std::uint64_t> value;
  if (wire == 0) value = varint();
  if (wire == 1) value = fixed(8);
  if (wire == 5) value = fixed(4);
  if (wire == 2) value = varint();
  if (!value || field.number == 0 || (wire == 2 && *value > rest_.size())) {
    damaged_ = true;
    return std::nullopt;
  }
  field.is_bytes = wire == 2;
  if (field.is_bytes) {
    field.bytes = rest_.substr(0, *value);
    rest_.remove_prefix(*value);
  } else {
    field.value = *value;
  }
  return field;
}

}  // namespace rehearse::traces
