// The shape of a matrix, without the library of matrices.
#pragma once

#include <cstddef>

namespace rehearse::policies {

struct Shape {
  std::ptrdiff_t rows, columns;
  bool operator==(const Shape&) const = default;
};

}  // namespace rehearse::policies
