#include "scenarios/read/measured_sites.hpp"

#include <catch2/catch.hpp>

#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse;

TEST_CASE("a written catalogue is read as it was", "[measured sites]") {
  scenarios::Catalogue own;
  own.add_own();
  sim::Device device = *own.find_device("v100");
  device.source = "a \"quoted\" source";
  device.power = sim::PowerLaw{.running_w = 61,
                               .clock_w = 52,
                               .launch_w = 3,
                               .arithmetic_w = 143,
                               .memory_w = 34,
                               .voltage_floor = 0.55,
                               .voltage_slope = 1.25,
                               .lowest_clock = 0.15};
  device.peak_tf32_flops = 6e13;
  device.efficiency.step_overhead_s = 0.02;
  device.efficiency.model_factor = 1.25;
  device.efficiency.fast_forms = 0.5;
  device.corrections = {{.model = "resnet50",
                         .dataset = "imagenet",
                         .time_factor = 1.5,
                         .launch_factor = 0.5,
                         .power_factor = 0.75,
                         .wait_share = 0.25,
                         .loader_s = 2e-4,
                         .batches = {{16, 1.2}, {64, 0.9}}},
                        {.model = "small", .time_factor = 2}};  // a structure has no data set
  scenarios::InstanceEntry entry = *own.find_instance("p3.8xlarge");
  entry.instance.inside = {3e10, 2e-6, 0.75};
  entry.instance.network = {1.5e9, 3e-5};
  entry.instance.overlap = 2.5;
  entry.instance.server_bytes_per_s = 4e8;
  entry.instance.server_overlap = 1.5;

  const TemporaryFolder folder;
  scenarios::Catalogue again;
  again.add_own();
  sim::Mistakes mistakes;
  again.add_file(folder.write("c.json", scenarios::catalogue_json({device}, {entry})), mistakes);
  mistakes.throw_if_any();
  const sim::Device& read = *again.find_device("v100");
  CHECK(read.peak_fp16_flops == device.peak_fp16_flops);
  CHECK(read.source == device.source);
  REQUIRE(read.power);
  CHECK(read.power->running_w == 61);
  CHECK(read.power->clock_w == 52);
  CHECK(read.power->launch_w == 3);
  CHECK(read.power->arithmetic_w == 143);
  CHECK(read.power->memory_w == 34);
  CHECK(read.power->voltage_floor == 0.55);
  CHECK(read.power->voltage_slope == 1.25);
  CHECK(read.power->lowest_clock == 0.15);
  CHECK(read.peak_tf32_flops == 6e13);
  CHECK(read.efficiency.step_overhead_s == 0.02);
  CHECK(read.efficiency.model_factor == 1.25);
  CHECK(read.efficiency.fast_forms == 0.5);
  REQUIRE(read.corrections.size() == 2);
  CHECK(correction_of(read, "small", "any").time_factor == 2);
  CHECK(correction_of(read, "vgg16", "imagenet").time_factor == 1.25);  // not measured: as models have in common
  CHECK(read.corrections[0].power_factor == 0.75);
  CHECK(read.corrections[0].wait_share == 0.25);
  CHECK(read.corrections[0].loader_s == 2e-4);
  REQUIRE(read.corrections[0].batches.size() == 2);
  CHECK(read.corrections[0].batches[1].batch == 64);
  CHECK(read.corrections[0].batches[1].factor == 0.9);
  CHECK(read.corrections[1].batches.empty());
  const scenarios::InstanceEntry& there = *again.find_instance("p3.8xlarge");
  CHECK(there.instance.inside.bandwidth_bytes_per_s == 3e10);
  CHECK(there.instance.inside.contention == 0.75);
  CHECK(there.instance.network.latency_s == 3e-5);
  CHECK(there.instance.overlap == 2.5);
  CHECK(there.instance.server_bytes_per_s == 4e8);
  CHECK(there.instance.server_overlap == 1.5);
  CHECK(there.instance.price_usd_per_hour == entry.instance.price_usd_per_hour);
  CHECK(there.has_price);
  CHECK(there.instance.vcpus == entry.instance.vcpus);
  CHECK(there.instance.host_busy_w == entry.instance.host_busy_w);
  CHECK(there.devices.size() == entry.devices.size());

  // Measurements on it take the links.
  const workloads::Measurement four{
      .model = "resnet50", .dataset = "imagenet", .device = "v100", .workers_per_node = 4, .workers = 4};
  CHECK(instance_of(four, again) == &there);
  const workloads::Site site = site_of(four, again);
  CHECK(site.inside.bandwidth_bytes_per_s == 3e10);
  CHECK(site.inside.contention == 0.75);
  CHECK(site.overlap == 2.5);
  CHECK(site.server_bytes_per_s == 4e8);
  CHECK(site.server_overlap == 1.5);
  CHECK(site.device.power);
}

TEST_CASE("a device's name and source are written as they are, tabs and quotes included", "[measured sites]") {
  scenarios::Catalogue own;
  own.add_own();
  sim::Device device = *own.find_device("v100");
  device.name = "my\tgpu";
  device.source = "\"quoted\" \\ and\nbroken";
  const TemporaryFolder folder;
  scenarios::Catalogue again;
  sim::Mistakes mistakes;
  again.add_file(folder.write("c.json", scenarios::catalogue_json({device}, {})), mistakes);
  mistakes.throw_if_any();
  REQUIRE(again.find_device("my\tgpu") != nullptr);
  CHECK(again.find_device("my\tgpu")->source == device.source);
}

TEST_CASE("every instance of the catalogue can be written and read", "[measured sites]") {
  scenarios::Catalogue own;
  own.add_own();
  const TemporaryFolder folder;
  scenarios::Catalogue again;
  sim::Mistakes mistakes;
  again.add_file(folder.write("c.json", scenarios::catalogue_json(own.devices(), own.instances())), mistakes);
  mistakes.throw_if_any();
  CHECK(again.device_names() == own.device_names());
  REQUIRE(again.instance_names() == own.instance_names());
  for (const std::string& name : own.instance_names()) {
    INFO(name);
    sim::Cluster a, b;
    add_to_cluster(*own.find_instance(name), own, a, mistakes);
    add_to_cluster(*again.find_instance(name), again, b, mistakes);
    mistakes.throw_if_any();
    CHECK(a.devices.size() == b.devices.size());
    CHECK(a.instances[0].memory_bytes == b.instances[0].memory_bytes);
    CHECK(a.instances[0].storage_bandwidth_bytes_per_s == b.instances[0].storage_bandwidth_bytes_per_s);
    CHECK(a.instances[0].gpus.size() == b.instances[0].gpus.size());
    CHECK(a.devices[0].cores == b.devices[0].cores);
  }
}

TEST_CASE("a written stack is read as it was, and a measured device keeps the name of its software", "[measured sites][stacks]") {
  const sim::Stack stack{.name = "ours",
                         .time_factor = 1.25,
                         .launch_s = 3e-5,
                         .host_s_per_op = 2e-5,
                         .step_overhead_s = 0.012,
                         .fast_forms = 0.75,
                         .overlap = 2.5,
                         .precision = sim::Precision::tf32_convolutions,
                         .source = "a \"quoted\" source"};
  scenarios::Catalogue own;
  own.add_own();
  sim::Device device = *own.find_device("v100");
  device.stack = "ours";
  const TemporaryFolder folder;
  scenarios::Catalogue again;
  again.add_own();
  sim::Mistakes mistakes;
  again.add_file(folder.write("c.json", scenarios::catalogue_json({device}, {}, {stack})), mistakes);
  mistakes.throw_if_any();
  CHECK(again.find_device("v100")->stack == "ours");
  const sim::Stack& read = *again.find_stack("ours");
  CHECK(read.time_factor == 1.25);
  CHECK(read.launch_s == 3e-5);
  CHECK(read.host_s_per_op == 2e-5);
  CHECK(read.step_overhead_s == 0.012);
  CHECK(read.fast_forms == 0.75);
  CHECK(read.overlap == 2.5);
  CHECK(read.precision == sim::Precision::tf32_convolutions);
  CHECK(read.source == stack.source);
}

TEST_CASE("a catalogue on a stack: unmeasured GPUs and unsaid overlaps change, nothing else", "[measured sites][stacks]") {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  const TemporaryFolder folder;
  catalogue.add_file(folder.write("c.json", R"({
    "devices": [ { "name": "mine", "peak_flops": { "fp32": 1e13 }, "stack": "measured" } ],
    "instances": [ { "name": "said", "devices": [ { "device": "v100" } ], "overlap": 4 },
                   { "name": "unsaid", "devices": [ { "device": "v100" } ] } ] })"),
                     mistakes);
  mistakes.throw_if_any();
  catalogue.use_stack({.name = "ours", .launch_s = 3e-5, .overlap = 2});
  CHECK(catalogue.find_device("v100")->efficiency.launch_s == 3e-5);
  CHECK(catalogue.find_device("mine")->efficiency.launch_s == 1e-5);
  CHECK(catalogue.find_device("xeon-8259cl")->efficiency.launch_s == 1e-5);
  CHECK(catalogue.find_instance("said")->instance.overlap == 4);
  CHECK(catalogue.find_instance("unsaid")->instance.overlap == 2);
}
