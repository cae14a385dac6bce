#include "experiments/process/policy_process.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "experiments/process/messages.hpp"
#include "sim/base/random.hpp"
#include "sim/io/json.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::size_t kShownOfAnswer = 100;  // of an answer that is wrong
constexpr int kSeedBits = 53;                // a JSON number of anyone's holds so many

/// The parts of requests that are left out unless the process asks for them.
const std::vector<std::string> kParts{"candidates", "nodes", "now"};

/// In a sandbox it sees no results: what other policies did in the same worlds would tell it what comes. Hidden are this run's,
/// and what lies beside them.
ProcessCommand command_of(const ProcessSettings& settings, const policies::OutsideInputs& inputs) {
  ProcessCommand command = settings.command;
  if (!command.sandbox || inputs.folder.empty()) return command;
  namespace fs = std::filesystem;
  const fs::path part = fs::weakly_canonical(inputs.folder).parent_path();
  std::error_code ignored;
  for (const auto& beside : fs::directory_iterator(part.parent_path(), ignored))
    if (beside.is_directory(ignored) &&
        (beside.path().extension() == ".part" || fs::exists(beside.path() / "summary.json", ignored)))
      command.hidden.push_back(beside.path());
  return command;
}

std::string log_of(const policies::OutsideInputs& inputs, const std::string& decision) {
  return inputs.folder.empty() ? std::string() : fmt::format("{}/{}{}", inputs.folder, kLogPrefix, decision);
}

}  // namespace

PolicyProcess::PolicyProcess(const ProcessSettings& settings, std::string decision, const policies::OutsideInputs& inputs)
    : decision_(std::move(decision)),
      cluster_(*inputs.cluster),
      talk_({.command = command_of(settings, inputs), .timeout_s = settings.timeout_s, .log = log_of(inputs, decision_)}) {
  try {
    say_hello(inputs);
  } catch (const sim::PolicyError& error) {
    throw sim::PolicyError(
        fmt::format("policy \"{}\", {}, before its first decision: {}", inputs.policy, decision_, error.what()));
  }
}

PolicyProcess::~PolicyProcess() { talk_.farewell(R"({"type":"bye"})"); }

void PolicyProcess::say_hello(const policies::OutsideInputs& inputs) {
  const std::uint64_t key = sim::stream_key(inputs.policy_seed, static_cast<std::uint64_t>(inputs.repetition), "process", decision_);
  JsonLine hello;
  hello.open('{').key("type").text("hello").key("version").number(kProtocolVersion);
  hello.key("decision").text(decision_).key("policy").text(inputs.policy).key("repetition").number(inputs.repetition);
  hello.key("seed").number(static_cast<double>(key >> (64 - kSeedBits))).key("cluster");
  write_cluster(cluster_, hello);
  read_answer(talk_.exchange(hello.close('}').line()), [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
    if (const auto type = in.maybe_text("type"); type && *type != "hello") in.child("type")->refuse("\"hello\"", mistakes);
    if (const std::int64_t version = in.integer("version"); mistakes.empty() && version != kProtocolVersion)
      in.child("version")->refuse(fmt::format("version {} of the protocol", kProtocolVersion), mistakes);
    if (in.has("wants"))
      for (const sim::JsonValue part : in.list("wants")) wants_.insert(kParts[sim::read_choice(part, kParts, mistakes)]);
  });
}

void PolicyProcess::ask(const std::function<void(JsonLine&)>& write,
                        const std::function<void(sim::ObjectReader&, sim::Mistakes&)>& read) {
  const std::uint64_t id = ++asked_;
  JsonLine request;
  request.open('{').key("type").text(decision_).key("id").number(static_cast<double>(id));
  write(request);
  read_answer(talk_.exchange(request.close('}').line()), [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
    const std::int64_t answered = in.integer("id", sim::at_least(0));
    if (mistakes.empty() && static_cast<std::uint64_t>(answered) != id)
      in.child("id")->refuse(fmt::format("the request's id {}", id), mistakes);
    mistakes.throw_if_any();
    if (const auto error = in.maybe_text("error")) throw sim::PolicyError("it says " + sim::shown(*error, 2 * kShownOfAnswer));
    read(in, mistakes);
  });
}

void PolicyProcess::read_answer(std::string line, const std::function<void(sim::ObjectReader&, sim::Mistakes&)>& read) {
  const std::string shown = sim::shown(std::string_view(line).substr(0, 4 * kShownOfAnswer), kShownOfAnswer);
  try {
    const sim::JsonDocument document = sim::parse_json(std::move(line), "its answer");
    sim::Mistakes mistakes;
    sim::ObjectReader in(document.root(), mistakes);
    read(in, mistakes);
    in.finish();
    mistakes.throw_if_any();
  } catch (const sim::InputError& error) {
    const std::size_t others = error.mistakes().size() - 1;
    talk_.fail(fmt::format("answered {}: {}{}", shown, sim::to_string(error.mistakes().front()),
                           others == 0 ? std::string() : fmt::format(" (and {} other mistakes)", others)));
  } catch (const sim::PolicyError& error) {
    talk_.fail(fmt::format("answered {}: {}", shown, error.what()));
  }
}

}  // namespace rehearse::scenarios
