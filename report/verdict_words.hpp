// What the sentences and rows of both verdicts, on money and on completion times, have in common.
#pragma once

#include <string>
#include <vector>

#include "report/verdict.hpp"

namespace rehearse::report {

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& policies);

/// The policies of a statement of which `is_wanted` holds, in its order.
template <class Wanted>
std::vector<std::string> names_of(const Statement& s, Wanted&& is_wanted) {
  std::vector<std::string> names;
  for (const PolicyVerdict& policy : s.policies)
    if (is_wanted(policy)) names.push_back(policy.name);
  return names;
}

/// The most that any of these policies needs.
double most_repetitions_more(const Statement& s, const std::vector<std::string>& policies);
std::string repetitions_more_words(double repetitions);

/// "On these 4 jobs", "On these 10 x 100 jobs"; of few jobs "An example, not evidence: on these 4 jobs".
std::string scope_words(const RunVerdict& verdict);

/// A row of both statements, given what each says of a policy: one text where they stand alike.
std::string row_of_both(const RunVerdict& verdict, const PolicyVerdict& drawn, const std::string& on_drawn,
                        const std::string& in_new_worlds);

/// 100 (1 - cost / the reference's), without bounds where they are unknown.
Estimate cheaper_than_reference(const RunVerdict& verdict, const PolicyVerdict& drawn);

}  // namespace rehearse::report
