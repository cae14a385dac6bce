// Where learning starts from.
#pragma once

#include "policies/learn/nn/matrix.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

/// Uniform in +-gain sqrt(6/(rows + columns)) (Glorot and Bengio, AISTATS 2010, equation 16).
Matrix glorot_uniform(Shape shape, double gain, sim::Random& random);

/// Orthogonal rows or columns, whichever are fewer, of length `gain` (Saxe, McClelland, Ganguli, ICLR 2014): normal numbers,
/// made orthogonal by Gram and Schmidt.
Matrix orthogonal(Shape shape, double gain, sim::Random& random);

}  // namespace rehearse::policies
