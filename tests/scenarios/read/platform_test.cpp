#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "experiments/load.hpp"
#include "sim/engine/platform_file.hpp"
#include "tests/scenarios/loading.hpp"

using namespace rehearse;

namespace {

const std::string kSite = REHEARSE_SOURCE_DIR "/tests/scenarios/corpus/files/site.xml";

std::string scenario_of(const std::string& platform) {
  return R"({ "cluster": { "platform": ")" + platform +
         R"(" }, "jobs": [ { "gpus": 1, "duration_s": 60 } ], "policies": [ "manual" ] })";
}

std::string site_with(const std::string& from, const std::string& to) {
  std::ifstream in(kSite);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a platform of 900 million hosts is refused before they are made") {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.xml", R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-899999999,900000003" speed="1Gf" bw="1GBps" lat="1us"/></platform>)");
  try {
    scenarios::load_scenario(folder.write("s.json", scenario_of(path)), {});
    FAIL("it was taken");
  } catch (const sim::InputError& error) {  // 0 to 899,999,999, and one more
    CHECK_THAT(error.what(), Catch::Contains("at most 1000000 hosts") && Catch::Contains("clusters of 900000001"));
  }
}

TEST_CASE("a platform file becomes pools, nodes, cards and racks") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", scenario_of(kSite)), {});
  const sim::Cluster& cluster = scenario->cluster;
  REQUIRE(cluster.pools.size() == 2);  // in the order of their names
  const sim::Pool &cpus = cluster.pools[0], &gpus = cluster.pools[1];
  CHECK(cpus.name == "cpus");
  CHECK(cpus.nodes == 12);
  CHECK(gpus.name == "gpus");
  CHECK(gpus.nodes == 6);
  const sim::Instance& node = cluster.instances[static_cast<std::size_t>(gpus.instance)];
  REQUIRE(node.gpus.size() == 1);
  CHECK(cluster.devices[static_cast<std::size_t>(node.gpus[0].device)].name == "v100");
  CHECK(node.gpus[0].count == 4);
  CHECK(node.price_usd_per_hour == 12.24);
  CHECK(node.network.bandwidth_bytes_per_s == 1.25e9);
  CHECK(node.network.latency_s == Approx(100e-6));  // the two cards'
  const sim::Device& cpu =
      cluster.devices[static_cast<std::size_t>(cluster.instances[static_cast<std::size_t>(cpus.instance)].cpu)];
  CHECK(cpu.cores == 36);
  CHECK(cpu.peak_fp32_flops == Approx(36 * 60e9));
  // Zones by name: cpus, gpus-a, gpus-b. The widest way from a is to the CPUs, over 2.5 and 5 GB/s; from b 1 GB/s at most.
  REQUIRE(cluster.network);
  REQUIRE(cluster.network->racks);
  CHECK(cluster.network->racks->uplinks_bytes_per_s == std::vector{2.5e9, 2.5e9, 1e9});
  CHECK(cluster.network->racks->of_node[1] == std::vector{1, 1, 1, 1, 2, 2});
  CHECK(cluster.network->racks->of_node[0] == std::vector<int>(12, 0));
}

TEST_CASE("platforms with mistakes are refused, and say where") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& text) {
    folder.write("p.xml", text);
    return complaints_about(folder, folder.write("s.json", scenario_of("p.xml")));
  };
  CHECK_THAT(said(site_with("value=\"v100\"", "value=\"v1000\"")),
             Catch::Contains("a property gpu that is the name of a device") && Catch::Contains("v1000"));
  CHECK_THAT(said(site_with("value=\"12.24\"", "value=\"twelve\"")),
             Catch::Contains("a property price_usd_per_hour that is a number"));
  CHECK_THAT(said(site_with("value=\"12.24\"", "value=\"11\"")), Catch::Contains("hardware as host a-0 of the same pool"));
  for (const std::string& text :
       {std::string(), std::string("not XML"), std::string("<platform version=\"4.1\">"), std::string(1000, '<'),
        std::string("\0\0", 2), site_with("</platform>", ""), site_with("speed=\"50Gf\"", "speed=\"fast\""),
        site_with("bw=\"1.25GBps\"", "bw=\"-1GBps\""), site_with("routing=\"Full\"", "routing=\"Round\""),
        site_with("id=\"a-uplink\"", "id=\"a-other\""), site_with("radical=\"0-3\"", "radical=\"0-999999999\""),
        site_with("version=\"4.1\"", "version=\"99\""),
        std::string("<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"simgrid.dtd\"><platform version=\"4.1\"></platform>")}) {
    INFO(text.substr(0, 60));
    CHECK_THAT(said(text), Catch::Contains("s.json:1:28: /cluster/platform: expected a platform"));
  }
  CHECK_THAT(complaints_about(folder, folder.write("s.json", scenario_of("none.xml"))), Catch::Contains("no such file"));
}
