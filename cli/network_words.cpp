#include "cli/network_words.hpp"

#include "cli/say.hpp"

namespace rehearse::cli {

std::string read_words(const workloads::NetworkAccount& account) { return "Read: " + account_words(account) + ".\n"; }

std::string predicted_words(const workloads::NetworkAccount& account) {
  if (!account.has_attention) return read_words(account);
  return read_words(account) +
         wrapped(
             "Warning: this network has attention among its layers. Predicted steps of transformers are up to 3 times slower "
             "than "
             "public records (docs/evidence/rent.md, \"Transformers\"). For a figure to rely on, measure ten minutes of your own "
             "training and give the rows to rehearse rent with --from.");
}

}  // namespace rehearse::cli
