#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/steps/step_model.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

TEST_CASE("ring all-reduce by hand", "[synchronisation]") {
  // 4 ranks, 100 MB over 10 GB/s, 5 us: 2 x 3/4 x 0.01 s + 6 x 5 us
  CHECK(ring_all_reduce_s(1e8, 4, {1e10, 5e-6}) == Approx(0.015 + 30e-6));
  CHECK(ring_all_reduce_s(1e8, 1, {}) == 0);
  // 2 nodes of 4: inside as above; across 2 x 1/2 x 25 MB over a quarter of 1 GB/s, + 2 x 20 us
  const RingPlan plan{2, 4, {1e10, 5e-6}, {1e9, 20e-6}};
  CHECK(hierarchical_all_reduce_s(1e8, plan) == Approx(0.01503 + 0.1 + 40e-6));
  // Single GPUs: the plain ring over the network. One node: the plain ring inside.
  CHECK(hierarchical_all_reduce_s(1e8, {3, 1, {}, {1e9, 0}}) == Approx(ring_all_reduce_s(1e8, 3, {1e9, 0})));
  CHECK(hierarchical_all_reduce_s(1e8, {1, 4, {1e10, 5e-6}, {}}) == Approx(0.01503));
}

TEST_CASE("workers of a node that share a bus exchange longer, by hand", "[synchronisation]") {
  const sim::Link bus{1e10, 5e-6, 1}, half{1e10, 5e-6, 0.5};
  // 8 ranks alone: 2 x 7/8 x 0.01 s + 14 x 5 us = 17.57 ms; (8/2)^1 = 4, (8/2)^0.5 = 2
  CHECK(ring_all_reduce_s(1e8, 8, bus) == Approx(4 * 0.01757));
  CHECK(ring_all_reduce_s(1e8, 8, half) == Approx(2 * 0.01757));
  // The bandwidth is that of two, and one exchanges nothing.
  CHECK(ring_all_reduce_s(1e8, 2, bus) == ring_all_reduce_s(1e8, 2, {1e10, 5e-6}));
  CHECK(ring_all_reduce_s(1e8, 1, bus) == 0);
  // Of 2 nodes of 4 (above) the part inside alone: (4/2)^1 x 15.03 ms
  CHECK(hierarchical_all_reduce_s(1e8, {2, 4, bus, {1e9, 20e-6}}) == Approx(2 * 0.01503 + 0.1 + 40e-6));
}

TEST_CASE("overlap lies between the larger part and the sum", "[synchronisation]") {
  CHECK(overlapped(3, 4, 1) == Approx(7));
  CHECK(overlapped(3, 4, 2) == Approx(5));
  CHECK(overlapped(-1, 4, 2) == Approx(4));
  CHECK(overlapped(0, 0, 2) == 0);
  CHECK(overlapped(3e-60, 4e-60, 10) == Approx(4e-60 * std::pow(1 + std::pow(0.75, 10), 0.1)));
  rc::prop("bounds", [] {
    const double a = *rc::gen::inRange(0, 1000) * 1e-3, b = *rc::gen::inRange(0, 1000) * 1e-3,
                 g = *rc::gen::inRange(10, 101) / 10.0;
    RC_ASSERT(overlapped(a, b, g) >= std::max(a, b));
    RC_ASSERT(overlapped(a, b, g) <= (a + b) * (1 + 1e-12));
  });
}

TEST_CASE("parameter servers: linear, the knee, saturation", "[synchronisation]") {
  // 100 MB at 1 GB/s both ways and 50 ms to apply: 0.25 s a push. A worker computes 1 s: the knee of 2 servers is at 8 workers.
  const ParameterServers servers{.servers = 2, .network = {1e9, 0}, .apply_s = 0.05, .overlap = 4};
  const double push = push_s(1e8, servers);
  CHECK(push == Approx(0.25));
  CHECK(saturation_workers(1, push, servers) == Approx(8));
  // At the knee both terms are 1/8: 8 / 2^(1/4).
  CHECK(asynchronous_pushes_per_s(1, 8, push, servers) == Approx(8 / std::pow(2, 0.25)));
  CHECK(asynchronous_pushes_per_s(1, 1, push, servers) == Approx(1).epsilon(1e-3));
  CHECK(asynchronous_pushes_per_s(1, 1000, push, servers) == Approx(8).epsilon(1e-3));
}

TEST_CASE("parameter servers saturate where measured ResNet-32 on P100 did", "[synchronisation]") {
  // Global steps a second with one server: 44.5 at 5 workers and 43.1 at 8; with two, 80 at 7. Calibrated on the last two: one
  // server's plateau is 43.1 pushes a second; 1/80 = ((T_w/7)^4 + (push/2)^4)^(1/4) gives T_w = 7 (80^-4 - 86.2^-4)^(1/4) = 62
  // ms.
  const double push = 1 / 43.1, worker_s = 7 * std::pow(std::pow(80, -4) - std::pow(2 * 43.1, -4), 0.25);
  CHECK(worker_s == Approx(0.0621).epsilon(0.01));
  const ParameterServers one{.servers = 1}, two{.servers = 2};
  CHECK(asynchronous_pushes_per_s(worker_s, 7, push, two) == Approx(80));
  // Held out: 5 workers. Linear growth of 1/T_w = 16.1 a worker meets the 44.5 measured there at 2.76 workers.
  CHECK(asynchronous_pushes_per_s(worker_s, 5, push, one) == Approx(44.5).epsilon(0.06));
  CHECK(std::abs(saturation_workers(worker_s, push, one) - 44.5 * worker_s) < 1);
}

TEST_CASE("expected maxima of normal numbers", "[synchronisation]") {
  // Known: n = 2: 1/sqrt(pi); 3: 3/(2 sqrt(pi)); 5: 1.16296; 100: 2.50759 (David and Nagaraja, Order Statistics).
  CHECK(expected_normal_maximum(1) == 0);
  CHECK(expected_normal_maximum(2) == Approx(1 / std::sqrt(M_PI)).epsilon(1e-6));
  CHECK(expected_normal_maximum(3) == Approx(1.5 / std::sqrt(M_PI)).epsilon(1e-6));
  CHECK(expected_normal_maximum(5) == Approx(1.16296).epsilon(1e-5));
  CHECK(expected_normal_maximum(100) == Approx(2.50759).epsilon(1e-5));
}

TEST_CASE("a whole step, by hand", "[synchronisation]") {
  const ComputeTime compute{.forward_s = 0.1, .backward_s = 0.3, .update_s = 0.05, .host_s = 0.2};
  StepInputs in{.compute = compute, .gradient_bytes = 1e8, .ring = {1, 1, {}, {}}, .overlap = 2};
  // Alone: 0.45 s. Host 0.6 s or input 0.7 s takes over.
  CHECK(step_time(in).step_s == Approx(0.45));
  in.compute.host_s = 0.6;
  CHECK(step_time(in).step_s == Approx(0.6));
  in.input_s = 0.7;
  CHECK(step_time(in).worker_s == Approx(0.7));
  // What a framework does besides comes on top of whichever was the slowest.
  in.compute.overhead_s = 0.05;
  CHECK(step_time(in).worker_s == Approx(0.75));
  in.compute.host_s = in.input_s = in.compute.overhead_s = 0;
  // Loaders that keep a node's CPUs busy for 0.2 s of each worker's samples: one worker hides them, three on the node do not.
  in.compute.loading_s = 0.2;
  CHECK(step_time(in).step_s == Approx(0.45));
  in.ring = {2, 3, {1e15, 0}, {1e15, 0}};
  CHECK(step_time(in).worker_s == Approx(0.6));
  in.compute.loading_s = 0;

  // 2 workers, 2 x 1/2 x 0.1 GB at 0.25 GB/s = 0.4 s beside 0.3 s of backward pass: sqrt(0.09 + 0.16) - 0.3 = 0.2 s exposed.
  in.ring = {1, 2, {0.25e9, 0}, {}};
  CHECK(step_time(in).exposed_synchronisation_s == Approx(0.2));
  CHECK(step_time(in).step_s == Approx(0.65));
  CHECK(step_time(in).steps_per_s == Approx(1 / 0.65));
  // A spread of 1 %: the slower of two takes 0.45 x 0.01 x 0.56419 longer.
  in.straggling = straggling(2);
  CHECK(step_time(in).straggler_s == Approx(0.45 * 0.0056419).epsilon(1e-4));
  in.straggling = 0;
  // An exchange that takes twice as long: sqrt(0.09 + 0.64) - 0.3.
  in.exchange_factor = 2;
  CHECK(step_time(in).exposed_synchronisation_s == Approx(std::sqrt(0.73) - 0.3));
  in.exchange_factor = 1;

  // Synchronous servers: 2 workers x 0.2 s a push (2 x 0.1 GB at 1 GB/s) on one server, 0.4 s again.
  in.exchange = Exchange::parameter_servers_synchronous;
  in.servers = {.servers = 1, .network = {1e9, 0}, .overlap = 2};
  CHECK(step_time(in).step_s == Approx(0.65));
  // Asynchronous: sqrt((0.45/2)^2 + 0.2^2) s between two pushes of anyone.
  in.exchange = Exchange::parameter_servers_asynchronous;
  const StepTime t = step_time(in);
  CHECK(t.steps_per_s == Approx(1 / std::hypot(0.225, 0.2)));
  CHECK(t.step_s == Approx(2 * std::hypot(0.225, 0.2)));
}

TEST_CASE("in a world of another form an exchange joins a worker's time by the root of squares") {
  // A ring of two over a link of 1 GB/s: 2 x 1/2 x 4e9 B = 4 s, beside 1 s forward and 2 s backward: sqrt(3^2 + 4^2) = 5.
  StepInputs in{.compute = {.forward_s = 1, .backward_s = 2},
                .gradient_bytes = 4e9,
                .ring = {.nodes = 1, .workers_per_node = 2, .inside = {1e9, 0}},
                .overlap = 2,
                .join = Join::root_of_squares};
  CHECK(step_time(in).step_s == Approx(5));
  CHECK(step_time(in).exposed_synchronisation_s == Approx(2));
  // Believed: sqrt(2^2 + 4^2) - 2 = 2.472 beyond the worker's 3 s.
  in.join = Join::overlapped;
  CHECK(step_time(in).step_s == Approx(3 + std::sqrt(20.0) - 2));
  // A worker alone exchanges nothing.
  in.join = Join::root_of_squares;
  in.ring.workers_per_node = 1;
  CHECK(step_time(in).step_s == Approx(3));
  // Pushes of 2 x 2e9 / 1e9 = 4 s from one worker of 3 s: again 5 s between two of them, whatever the exponent of the catalogue.
  in.gradient_bytes = 2e9;
  in.exchange = Exchange::parameter_servers_asynchronous;
  in.servers = {.servers = 1, .network = {1e9, 0}, .overlap = 7};
  CHECK(step_time(in).step_s == Approx(5));
}

TEST_CASE("more workers never make a step shorter, a faster network never longer", "[synchronisation]") {
  rc::prop("monotone", [] {
    const double bandwidth = *rc::gen::inRange(1, 100) * 1e8;
    const int nodes = *rc::gen::inRange(1, 40), workers = *rc::gen::inRange(1, 9);
    StepInputs in{.compute = {0.1, 0.2, 0.01, 0.05},
                  .gradient_bytes = 1e8,
                  .ring = {nodes, workers, {1e10, 1e-6}, {bandwidth, 1e-5}},
                  .straggling = straggling(nodes * workers)};
    const double step_s = step_time(in).step_s;
    in.ring.nodes += 1;
    in.straggling = straggling(in.ring.workers());
    RC_ASSERT(step_time(in).step_s >= step_s);
    in.ring.nodes -= 1;
    in.straggling = straggling(in.ring.workers());
    in.ring.network.bandwidth_bytes_per_s *= 2;
    RC_ASSERT(step_time(in).step_s <= step_s);
  });
}

TEST_CASE("a step of several passes exchanges gradients once, by hand", "[synchronisation]") {
  // A pass: 2 + 3 s and an update of 1 s. Four: 4 x 5 + 1 = 21. The exchange, 4 s beside a backward pass of 3 with g = 1: 4 more.
  StepInputs in{.compute = {.forward_s = 2, .backward_s = 3, .update_s = 1},
                .passes = 4,
                .gradient_bytes = 1e9,
                .ring = {.nodes = 2, .workers_per_node = 1, .inside = {}, .network = {0.25e9, 0}},
                .overlap = 1};
  CHECK(ring_all_reduce_s(1e9, 2, {0.25e9, 0}) == 4);
  CHECK(step_time(in).worker_s == 21);
  CHECK(step_time(in).step_s == 25);
  // Where the host issues more slowly (7 s a pass) or samples come more slowly, so do all passes; updates run once.
  in.compute.host_s = 7;
  CHECK(step_time(in).worker_s == 7 + 3 * 6);
  in.input_s = 9;
  CHECK(step_time(in).worker_s == 9 + 3 * 8);
  CHECK(in.compute.of_passes(4).total_s() == 21);
}
