// What other people's traces call the models that we know.
#pragma once

#include <string_view>

namespace rehearse::traces {

struct ModelName {
  std::string_view theirs, model;
  std::string_view dataset;  ///< empty: the model's usual one
};

/// Null for a name that has no other here.
const ModelName* find_model_name(std::string_view theirs);

}  // namespace rehearse::traces
