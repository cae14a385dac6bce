// Puts whole results where earlier ones are, without losing what is not ours.
#pragma once

#include <functional>
#include <string>

namespace rehearse::scenarios {

/// Moves the folder `part` to `target`. Results that are there change places with it in one step where the system knows how, and
/// their files are deleted; what their manifest does not name is moved back, one rename each. What has no place any more (the
/// new results have a file of its name) stays in a folder beside, NAME.XXXXXX.old, which `tell` hears of. Throws sim::InputError
/// when the folders could not be exchanged: both are then as they were.
void exchange_results(const std::string& part, const std::string& target, const std::function<void(const std::string&)>& tell);

}  // namespace rehearse::scenarios
