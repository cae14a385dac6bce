// What these tests draw.
#pragma once

#include <rapidcheck.h>

namespace rehearse::tests {

/// In [least, most], over the whole range from the first case on: rapidcheck's own ranges start small.
inline int whole(int least, int most) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, most + 1)); }

}  // namespace rehearse::tests
