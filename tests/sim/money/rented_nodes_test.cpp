#include "sim/money/rented_nodes.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/cluster/cluster.hpp"

using namespace rehearse::sim;

namespace {

Pool two_nodes() {
  Pool pool;
  pool.name = "p";
  pool.nodes = 2;
  return pool;
}

}  // namespace

TEST_CASE("a rented node is paid for whole, by the devices that jobs hold on it") {
  // 4 devices, 0.01 $/s. A holds 1 of them from 0 to 100, B 3 from 40 to 60.
  //   0..40   A alone: 40 x 0.01          = 0.40
  //   40..60  A 1/4, B 3/4 of 20 x 0.01   = 0.05 and 0.15
  //   60..100 A alone again               = 0.40
  RentedNodes nodes(two_nodes(), 0.01, 0);
  NodeRent a = nodes.take(0, 0, 0, 1);
  CHECK(nodes.rented() == 1);
  NodeRent b = nodes.take(40, 0, 0, 3);
  CHECK(nodes.give_back(60, b) == Approx(0.15));
  CHECK(nodes.settle(80, a) == Approx(0.40 + 0.05 + 0.20));
  CHECK(nodes.give_back(100, a) == Approx(0.20));
  CHECK(nodes.rented() == 0);
  CHECK(nodes.ended_usd() == Approx(1.0));
}

TEST_CASE("parts of a device count as parts") {
  // A holds a quarter, B a half of a device: one third and two thirds of 30 x 0.01.
  RentedNodes nodes(two_nodes(), 0.01, 0);
  NodeRent a = nodes.take(0, 0, 1, 0.25), b = nodes.take(0, 0, 1, 0.5);
  CHECK(nodes.give_back(30, a) == Approx(0.1));
  CHECK(nodes.give_back(30, b) == Approx(0.2));
}

TEST_CASE("the last job pays the rest of a node's minimum time, and who comes within it pays only beyond it") {
  // Minimum 60 s at 0.01 $/s. A: 0..20 pays 60 s. B: 30..50 is paid for. C: 55..90 pays 60..90. D: 100..110 begins a new rental:
  // 60 s.
  RentedNodes nodes(two_nodes(), 0.01, 60);
  NodeRent a = nodes.take(0, 0, 0, 1);
  CHECK(nodes.give_back(20, a) == Approx(0.6));
  NodeRent b = nodes.take(30, 0, 0, 2);
  CHECK(nodes.give_back(50, b) == Approx(0).margin(1e-15));
  NodeRent c = nodes.take(55, 0, 0, 4);
  CHECK(nodes.give_back(90, c) == Approx(0.3));
  NodeRent d = nodes.take(100, 0, 0, 1);
  CHECK(nodes.give_back(110, d) == Approx(0.6));
  CHECK(nodes.ended_usd() == Approx(0.6 + 0.3 + 0.6));
}

TEST_CASE("prices that change are charged as of then") {
  // 3.6 $/h until 10 s, then 7.2: 10 x 0.001 + 5 x 0.002.
  Pool pool = two_nodes();
  pool.prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 7.2}});
  RentedNodes nodes(pool, 99, 0);
  NodeRent a = nodes.take(0, 0, 0, 1);
  CHECK(nodes.give_back(15, a) == Approx(0.02));
  CHECK(nodes.ended_usd() == Approx(0.02));
}

TEST_CASE("whatever jobs come and go, what they are charged is the pool's bill") {
  rc::prop("conservation to 1e-9", [] {
    const double minimum = *rc::gen::element(0.0, 60.0, 1000.0);
    RentedNodes nodes(two_nodes(), 0.003, minimum);
    std::vector<NodeRent> held;
    double now = 0, charged = 0;
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
      now += *rc::gen::inRange(0, 200);
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          held.push_back(nodes.take(now, 0, *rc::gen::inRange(0, 2), *rc::gen::inRange(1, 9) / 4.0));
          break;
        case 1:
          if (!held.empty()) charged += nodes.settle(now, held[*rc::gen::inRange<std::size_t>(0, held.size())]);
          break;
        default:
          if (held.empty()) break;
          std::swap(held[*rc::gen::inRange<std::size_t>(0, held.size())], held.back());
          charged += nodes.give_back(now, held.back());
          held.pop_back();
      }
    }
    for (NodeRent& rent : held) charged += nodes.give_back(now, rent);
    RC_ASSERT(nodes.rented() == 0);
    RC_ASSERT(std::abs(charged - nodes.ended_usd()) <= 1e-9 * std::max(1.0, charged));
  });
}
