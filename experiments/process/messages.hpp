// The values of a conversation with a policy's process, as JSON (docs/reference/protocol.md), a line each.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "policies/registry/bundle.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::scenarios {

// Writes one line of JSON, as it goes.

/// In objects key(), a literal, goes before each value. Commas come by themselves.
class JsonLine {
 public:
  JsonLine& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  JsonLine& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  JsonLine& key(std::string_view name) {
    separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    first_ = true;
    return *this;
  }
  JsonLine& text(std::string_view value) {
    separate();
    text_ += sim::json_string(value);
    return *this;
  }
  /// The shortest form that reads back; null when it is not finite.
  JsonLine& number(double value) {
    separate();
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(text_), "{}", value);
    else
      text_ += "null";
    return *this;
  }
  JsonLine& flag(bool value) {
    separate();
    text_ += value ? "true" : "false";
    return *this;
  }

  /// Members that are left out when there is nothing to say.
  JsonLine& maybe_number(std::string_view name, double value, double none = NAN) {
    return std::isfinite(value) && value != none ? key(name).number(value) : *this;
  }
  JsonLine& maybe_text(std::string_view name, std::string_view value) { return value.empty() ? *this : key(name).text(value); }

  const std::string& line() const { return text_; }

 private:
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string text_;
  bool first_ = true;
};

// The values of a conversation with a policy's process, as JSON (docs/reference/protocol.md).

void write_cluster(const sim::Cluster& cluster, JsonLine& out);
void write_job(const sim::Job& job, const sim::Cluster& cluster, JsonLine& out);
void write_configuration(const sim::Configuration& configuration, const sim::Cluster& cluster, JsonLine& out);
void write_prediction(const sim::Prediction& prediction, JsonLine& out);
/// {"configuration", "predicted", "until_epochs"}
void write_choice(const sim::Choice& choice, const sim::Cluster& cluster, JsonLine& out);
/// What a scheduler sees of the cluster, and of this job's time when there is one.
void write_now(const sim::Sight& sight, const sim::Cluster& cluster, const sim::Job* job, JsonLine& out);
void write_seen(const sim::StageSeen& seen, const sim::Cluster& cluster, JsonLine& out);

sim::Configuration read_configuration(sim::JsonValue value, const sim::Cluster& cluster, sim::Mistakes& mistakes);
/// Of a job that is asked about at `now_s`.
sim::Pause read_pause(sim::JsonValue value, const sim::Cluster& cluster, double now_s, sim::Mistakes& mistakes);
sim::Prediction read_prediction(sim::JsonValue value, sim::Mistakes& mistakes);

// Operation graphs, as a process is told of them: each once, then by its number.

class ToldGraphs {
 public:
  /// Members "graph", a number, and "new_graph" when the process does not know it. The graph must outlive this.
  void write(const sim::OpGraph& graph, JsonLine& out);

 private:
  std::map<const sim::OpGraph*, int> number_;
};

}  // namespace rehearse::scenarios
