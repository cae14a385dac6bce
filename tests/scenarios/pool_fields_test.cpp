// One table says what can be said of a pool (scenarios/read/pool_fields.cpp): the schema and the documentation follow it; with
// REHEARSE_UPDATE set they are written again.
#include "scenarios/read/pool_fields.hpp"

#include "tests/scenarios/generated_text.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;
using nlohmann::ordered_json;
using scenarios::PoolField;

ordered_json schema_of(const PoolField& field) {
  ordered_json schema = ordered_json::object();
  schema["description"] = plain(field.meaning);
  if (field.choices != nullptr)
    schema["enum"] = std::vector<std::string>(field.choices().begin(), field.choices().end());
  else if (field.is_number())
    add_number(schema, field.range, field.whole());
  else
    schema["$ref"] = fmt::format("#/$defs/{}", field.type);
  return schema;
}

std::string values_of(const PoolField& field) {
  if (field.choices != nullptr) return fmt::format("`{}`", fmt::join(field.choices(), "`, `"));
  if (field.is_number()) return ::values_of(field.range, field.whole());
  if (!field.values.empty()) return std::string(field.values);
  return field.type == "text" ? "text" : "object";
}

/// A scenario whose one pool has `value` at the field, and what else the field wants beside it.
std::string with(const PoolField& field, const ordered_json& value) {
  ordered_json pool = {{"name", "p"}, {"instance", "p3.2xlarge"}, {"nodes", 4}};
  if (field.part == "spot") {
    pool["pricing"] = "spot";
    pool["prices_usd_per_hour"]["steps"].push_back({{"time_s", 0}, {"value", 1}});
  }
  (field.part.empty() ? pool : pool[std::string(field.part)])[std::string(field.name)] = value;
  ordered_json scenario = ordered_json::parse(R"({"policies": ["manual"], "jobs": [{"gpus": 1, "duration_s": 60}]})");
  scenario["cluster"]["pools"].push_back(pool);
  return scenario.dump();
}

}  // namespace

TEST_CASE("the schema's pool is that of the table of fields") {
  for (const std::string part : {"pool", "spot", "autoscale"}) {
    std::string wanted;
    for (const PoolField& field : scenarios::pool_fields())
      if (field.part == (part == "pool" ? "" : part))
        wanted += fmt::format("{}        \"{}\": {}", wanted.empty() ? "" : ",\n", field.name, on_one_line(schema_of(field)));
    const std::string text = text_of_file(REHEARSE_SOURCE_DIR "/scenarios/schema/scenario.schema.json");
    const std::string head = "    \"" + part + "\": {\n";
    const std::size_t at = text.find(head);
    REQUIRE(at != text.npos);
    const std::string properties = "      \"properties\": {\n";
    const std::string begin = text.substr(at, text.find(properties, at) + properties.size() - at);
    compare_or_update("scenarios/schema/scenario.schema.json", begin, "\n      },\n", wanted);
  }
}

TEST_CASE("the documentation's keys of a pool are those of the table of fields") {
  std::string wanted;
  for (const PoolField& field : scenarios::pool_fields())
    wanted += fmt::format("| `{}{}{}` | {} | {} | {} |\n", field.part, field.part.empty() ? "" : ".", field.name,
                          values_of(field), field.fallback, field.meaning);
  compare_or_update("docs/reference/cluster.md", "A pool:\n\n| key | type | default | meaning |\n|---|---|---|---|\n",
                    "\nA worker is", wanted);
}

TEST_CASE("a number of a pool may be what its field says, and nothing beyond") {
  const TemporaryFolder folder;
  for (const PoolField& field : scenarios::pool_fields()) {
    if (!field.is_number()) continue;
    INFO(field.part << "." << field.name);
    const double low = std::max(field.range.low, field.name == "min_nodes" ? 2.0 : 1.0);
    const auto loaded = scenarios::load_scenario(
        folder.write("s.json", with(field, field.whole() ? ordered_json(static_cast<int>(low)) : ordered_json(low))), {});
    const sim::Pool& pool = loaded->cluster.pools[0];
    const double read = std::visit(
        [&](auto member) -> double {
          if constexpr (requires { pool.*member; })
            return pool.*member;
          else if constexpr (requires { *pool.spot.*member; })
            return (*pool.spot).*member;
          else if constexpr (requires { *pool.autoscale.*member; })
            return (*pool.autoscale).*member;
          else
            return -1;
        },
        field.number);
    CHECK(read == low);
    for (const double beyond : {field.range.low - 1, 2 * field.range.high})
      CHECK_THROWS_AS(scenarios::load_scenario(folder.write("s.json", with(field, beyond)), {}), sim::InputError);
  }
}
