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
  CHECK(nodes.give_back(60, b).usd() == Approx(0.15));
  CHECK(nodes.settle(80, a).usd() == Approx(0.40 + 0.05 + 0.20));
  CHECK(nodes.give_back(100, a).usd() == Approx(0.20));
  CHECK(nodes.rented() == 0);
  CHECK(nodes.ended_usd() == Approx(1.0));
}

TEST_CASE("what a job pays while nobody else keeps the node rented is told apart") {
  // As above: of A's 0.85 $ 0.80 would not be paid without it; of B's 0.15 from 40 to 60 all would.
  RentedNodes nodes(two_nodes(), 0.01, 0);
  NodeRent a = nodes.take(0, 0, 0, 1);
  NodeRent b = nodes.take(40, 0, 0, 3);
  CHECK(nodes.give_back(60, b).alone_usd == 0);
  const RentCharge rest = nodes.give_back(100, a);
  CHECK(rest.usd() == Approx(0.85));
  CHECK(rest.alone_usd == Approx(0.80));
}

TEST_CASE("a job that pays the rest of a minimum time has it alone") {
  // Minimum 60 s at 0.01 $/s. A: 0..10, B: 5..20. A alone pays 0.05 and half of 0.05; B the other half, 10..20 and the
  // rest, 20..60.
  RentedNodes nodes(two_nodes(), 0.01, 60);
  NodeRent a = nodes.take(0, 0, 0, 1), b = nodes.take(5, 0, 0, 1);
  CHECK(nodes.give_back(10, a).alone_usd == Approx(0.05));
  CHECK(nodes.give_back(20, b).alone_usd == Approx(0.10 + 0.40));
}

TEST_CASE("rounds of years beside somebody else add nothing to what a job pays alone") {
  // Two nodes as one, 2.99 $/h each. A is alone for 10 s: 0.0166111 $; then, 100,000 times, C for a minute and A and B for
  // another.
  const double usd_per_node_s = 2.99 / 3600;
  RentedNodes nodes(two_nodes(), usd_per_node_s, 0, true);
  double a_usd = 0, b_usd = 0, c_usd = 0, now_s = 10;
  NodeRent a = nodes.take(0, 0, 0, 1);
  a_usd += nodes.give_back(now_s, a).alone_usd;
  for (int round = 0; round < 100'000; ++round) {
    NodeRent c = nodes.take(now_s, 0, 0, 1);
    c_usd += nodes.give_back(now_s += 60, c).alone_usd;
    a = nodes.take(now_s, 0, 0, 1);
    NodeRent b = nodes.take(now_s, 0, 0, 1);
    a_usd += nodes.give_back(now_s += 60, a).alone_usd;
    b_usd += nodes.give_back(now_s, b).alone_usd;
  }
  CHECK(a_usd == Approx(10 * 2 * usd_per_node_s).epsilon(1e-14));
  CHECK(b_usd == 0);
  CHECK(c_usd == Approx(6e6 * 2 * usd_per_node_s).epsilon(1e-9));
}

TEST_CASE("a second beside somebody who has rented for years costs half of a second") {
  // 10,000 $/s for 1e9 s are 1e13 $, of which doubles know no more than 0.002: A pays what B has cost to no part.
  RentedNodes nodes(two_nodes(), 1e4, 0);
  NodeRent b = nodes.take(0, 0, 0, 1);
  NodeRent a = nodes.take(1e9, 0, 0, 1);
  CHECK(nodes.give_back(1e9 + 1, a).usd() == 5000);
  CHECK(nodes.give_back(1e9 + 1, b).usd() == Approx(1e13 + 5000));
}

TEST_CASE("who takes a node at the date at which it is let go keeps it from being given back") {
  // Minimum 60 s at 0.01 $/s. A: 0..100, past the minimum. B: 100..110 goes on with the rental: 10 s, not 60.
  RentedNodes nodes(two_nodes(), 0.01, 60);
  NodeRent a = nodes.take(0, 0, 0, 1);
  CHECK(nodes.give_back(100, a).usd() == Approx(1.0));
  NodeRent b = nodes.take(100, 0, 0, 1);
  CHECK(nodes.give_back(110, b).usd() == Approx(0.1));
  CHECK(nodes.ended_usd() == Approx(1.1));
}

TEST_CASE("parts of a device count as parts") {
  // A holds a quarter, B a half of a device: one third and two thirds of 30 x 0.01.
  RentedNodes nodes(two_nodes(), 0.01, 0);
  NodeRent a = nodes.take(0, 0, 1, 0.25), b = nodes.take(0, 0, 1, 0.5);
  CHECK(nodes.give_back(30, a).usd() == Approx(0.1));
  CHECK(nodes.give_back(30, b).usd() == Approx(0.2));
}

TEST_CASE("the last job pays the rest of a node's minimum time, and who comes within it pays only beyond it") {
  // Minimum 60 s at 0.01 $/s. A: 0..20 pays 60 s. B: 30..50 is paid for. C: 55..90 pays 60..90. D: 100..110 begins a new rental:
  // 60 s.
  RentedNodes nodes(two_nodes(), 0.01, 60);
  NodeRent a = nodes.take(0, 0, 0, 1);
  CHECK(nodes.give_back(20, a).usd() == Approx(0.6));
  NodeRent b = nodes.take(30, 0, 0, 2);
  CHECK(nodes.give_back(50, b).usd() == Approx(0).margin(1e-15));
  NodeRent c = nodes.take(55, 0, 0, 4);
  CHECK(nodes.give_back(90, c).usd() == Approx(0.3));
  NodeRent d = nodes.take(100, 0, 0, 1);
  CHECK(nodes.give_back(110, d).usd() == Approx(0.6));
  CHECK(nodes.ended_usd() == Approx(0.6 + 0.3 + 0.6));
}

TEST_CASE("prices that change are charged as of then") {
  // 3.6 $/h until 10 s, then 7.2: 10 x 0.001 + 5 x 0.002.
  Pool pool = two_nodes();
  pool.prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 7.2}});
  RentedNodes nodes(pool, 99, 0);
  NodeRent a = nodes.take(0, 0, 0, 1);
  CHECK(nodes.give_back(15, a).usd() == Approx(0.02));
  CHECK(nodes.ended_usd() == Approx(0.02));
}

TEST_CASE("whatever jobs come and go, what they are charged is the pool's bill") {
  rc::prop("conservation to 1e-9", [] {
    const double minimum = *rc::gen::element(0.0, 60.0, 1000.0);
    RentedNodes nodes(two_nodes(), 0.003, minimum);
    std::vector<NodeRent> held;
    double now = 0, charged = 0;
    const auto charge = [&](const RentCharge& one) {
      RC_ASSERT(one.alone_usd >= 0);
      RC_ASSERT(one.shared_usd >= 0);
      charged += one.usd();
    };
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
      now += *rc::gen::inRange(0, 200);
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          held.push_back(nodes.take(now, 0, *rc::gen::inRange(0, 2), *rc::gen::inRange(1, 9) / 4.0));
          break;
        case 1:
          if (!held.empty()) charge(nodes.settle(now, held[*rc::gen::inRange<std::size_t>(0, held.size())]));
          break;
        default:
          if (held.empty()) break;
          std::swap(held[*rc::gen::inRange<std::size_t>(0, held.size())], held.back());
          charge(nodes.give_back(now, held.back()));
          held.pop_back();
      }
    }
    for (NodeRent& rent : held) charge(nodes.give_back(now, rent));
    RC_ASSERT(nodes.rented() == 0);
    RC_ASSERT(std::abs(charged - nodes.ended_usd()) <= 1e-9 * std::max(1.0, charged));
  });
}
