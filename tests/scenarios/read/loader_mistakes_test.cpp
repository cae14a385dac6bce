// Bad scenarios: what exactly the loader says about each mistake, and where.
#include <catch2/catch.hpp>

#include "tests/scenarios/mistakes.hpp"

namespace {

TEST_CASE("the base is a good scenario") {
  const TemporaryFolder folder;
  CHECK(complaints(folder, kBase) == "");
}

TEST_CASE("texts that are no JSON") {
  const TemporaryFolder folder;
  CHECK(complaints(folder, "") == "s.json:1:1: expected a value, found an empty file");
  CHECK(complaints(folder, "  \n\n ") == "s.json:3:2: expected a value, found an empty file");
  CHECK(complaints(folder, kBase.substr(0, kBase.size() - 1)) ==
        R"(s.json:4:28: expected "," or "}", found the end of the file)");
  CHECK(complaints(folder, kBase.substr(0, 60)) ==
        "s.json:2:44: expected a closing quote, found the end of the file in a string that starts here");
  CHECK(complaints(folder, "[]") == "s.json:1:1: expected an object, found an empty list");
  CHECK(complaints(folder, "\"text\"") == "s.json:1:1: expected an object, found \"text\"");
  CHECK(complaints(folder, std::string(200, '[') + std::string(200, ']')) ==
        "s.json:1:101: expected at most 100 levels of nesting, found one more");
  CHECK(complaints(folder, kBase + kBase) == R"(s.json:4:29: expected nothing after the document's one value, found "{")");
  check_all({
      {"'seed': 1", "'seed': NaN", R"(s.json:1:11: expected a value, found "NaN")"},
      {"'seed': 1", "'seed': 1e400", R"(s.json:1:11: expected a number within the range of a double, found "1e400")"},
      {"'seed': 1", "'seed': -Infinity", R"(s.json:1:11: expected a value, found "-Infinity")"},
      {"'seed': 1", "'seed': 1, 'seed': 2",
       R"(s.json:1:14: /seed: expected each key once, found "seed" again (first on line 1))"},
      {"'seed': 1", "'seed': 1, // a comment", R"(s.json:1:14: expected a key in double quotes, found "//")"},
  });
}

TEST_CASE("files that cannot be read") {
  const TemporaryFolder folder;
  CHECK(complaints_about(folder, folder.path() + "/none.json") == "none.json: expected a readable file, found no such file");
  CHECK(complaints_about(folder, folder.path() + "/.") == ".: expected a readable file, found a directory");
  std::ofstream(folder.path() + "/file") << "{}";
  CHECK(complaints_about(folder, folder.path() + "/file/below") ==
        "file/below: expected a readable file, found an error: Not a directory");
}

TEST_CASE("files that a scenario names are regular ones") {
  const std::string regular =
      ": expected a regular file: a pipe gives its bytes once, a device may have no end, found \"/dev/zero\"";
  check_all({
      {"'pools': [ { 'name': 'gpu', 'instance': 'p3.2xlarge', 'nodes': 2 } ]", "'platform': '/dev/zero'",
       "s.json:2:28: /cluster/platform" + regular},
      {"'gpus': 1, 'duration_s': 60", "'trace': '/dev/zero'", "s.json:3:24: /jobs/0/trace" + regular},
      {"'seed': 1,", "'history': { 'file': '/dev/zero' },", "s.json:1:24: /history/file" + regular},
      {"'seed': 1,", "'failures': { 'file': '/dev/zero' },", "s.json:1:25: /failures/file" + regular},
      {"'manual'", "{ 'name': 'a', 'configure': { 'name': 'staged-rl', 'agent': '/dev/zero' } }",
       "s.json:4:77: /policies/0/configure/agent" + regular},
  });
}

TEST_CASE("wrong types and numbers out of range") {
  check_all({
      {"'seed': 1", "'seed': '1'", R"(s.json:1:11: /seed: expected a whole number of at least 0, found "1")"},
      {"'seed': 1", "'seed': -1", "s.json:1:11: /seed: expected a whole number of at least 0, found -1"},
      {"'seed': 1", "'seed': 1.5", "s.json:1:11: /seed: expected a whole number of at least 0, found 1.5"},
      {"'seed': 1", "'seed': 9007199254740992",
       "s.json:1:11: /seed: expected a whole number between -2^53 and 2^53, found 9007199254740992"},
      {"'seed': 1", "'repetitions': 0", "s.json:1:18: /repetitions: expected a whole number from 1 to 10000, found 0"},
      {"'nodes': 2", "'nodes': -2", "s.json:2:79: /cluster/pools/0/nodes: expected a whole number from 1 to 1000000, found -2"},
      {"'nodes': 2", "'nodes': 0", "s.json:2:79: /cluster/pools/0/nodes: expected a whole number from 1 to 1000000, found 0"},
      {"'nodes': 2", "'nodes': null",
       "s.json:2:79: /cluster/pools/0/nodes: expected a whole number from 1 to 1000000, found null"},
      {"'duration_s': 60", "'duration_s': -60",
       "s.json:3:40: /jobs/0/duration_s: expected a number above 0 and of at most 8589934592, found -60"},
      {"'duration_s': 60", "'duration_s': 0",
       "s.json:3:40: /jobs/0/duration_s: expected a number above 0 and of at most 8589934592, found 0"},
      {"'gpus': 1", "'gpus': [1]", "s.json:3:23: /jobs/0/gpus: expected a whole number from 1 to 1000000, found a list"},
      {"'gpus': 1", "'gpus': 1, 'submit_s': -0.5",
       "s.json:3:38: /jobs/0/submit_s: expected a number from 0 to 8589934592, found -0.5"},
      {"[ 'manual' ]", "'manual'", R"(s.json:4:15: /policies: expected a list, found "manual")"},
      {"[ 'manual' ]", "[ 7 ]",
       "s.json:4:17: /policies/0: expected the name of a policy, or an object with its name and strategies, found 7"},
      {"'gpu'", "''", R"(s.json:2:37: /cluster/pools/0/name: expected a text that is not empty, found "")"},
      {"{ 'gpus': 1, 'duration_s': 60 }", "17", "s.json:3:13: /jobs/0: expected an object, found 17"},
      {"{ 'pools': [ { 'name': 'gpu', 'instance': 'p3.2xlarge', 'nodes': 2 } ] }", "[ 1 ]",
       "s.json:2:14: /cluster: expected an object, found a list"},
      {"'seed': 1", "'name': 'a/b'", R"(s.json:1:11: /name: expected a name without slashes, found "a/b")"},
      {"'seed': 1", "'name': '" + std::string(201, 'n') + "'",
       "s.json:1:11: /name: expected a name of at most 200 bytes, as files are named by it, found one of 201"},
      {"'seed': 1", "'name': 'a\\u0000b'", R"(s.json:1:11: /name: expected a name without slashes, found "a\x00b")"},
      {"'seed': 1", "'billing': 'alocated'",
       R"(s.json:1:14: /billing: expected one of "allocated", "node", "pool", found "alocated"; did you mean "allocated"?)"},
  });
}

TEST_CASE("lists that must not be empty, keys that must be there") {
  check_all({
      {"[ 'manual' ]", "[]", "s.json:4:15: /policies: expected at least one policy, found an empty list"},
      {"[ { 'gpus': 1, 'duration_s': 60 } ]", "[]", "s.json:3:11: /jobs: expected at least one job, found an empty list"},
      {"[ { 'name': 'gpu', 'instance': 'p3.2xlarge', 'nodes': 2 } ]", "[]",
       "s.json:2:25: /cluster/pools: expected at least one pool, found an empty list"},
      {"'name': 'gpu', ", "", R"(s.json:2:27: /cluster/pools/0: expected a key "name" (a text in double quotes), found none)"},
      {"'instance': 'p3.2xlarge', ", "",
       R"(s.json:2:27: /cluster/pools/0: expected a key "instance" (a text in double quotes), found none)"},
      {"'pools': [ { 'name': 'gpu', 'instance': 'p3.2xlarge', 'nodes': 2 } ]", "",
       "s.json:2:14: /cluster: expected either pools or a platform, found an empty object"},
  });
  const TemporaryFolder folder;
  CHECK(complaints(folder, "{}") ==
        "s.json:1:1: expected a key \"cluster\" (an object with pools), found none\n"
        "s.json:1:1: expected a key \"jobs\" (a list of jobs), found none\n"
        R"(s.json:1:1: expected a key "policies" (a list of policies), found none)");
  CHECK(complaints(folder, R"({"baseline": "manual"})") ==
        "s.json:1:1: expected a key \"cluster\" (an object with pools), found none\n"
        "s.json:1:1: expected a key \"jobs\" (a list of jobs), found none\n"
        R"(s.json:1:1: expected a key "policies" (a list of policies), found none)");
}

TEST_CASE("unknown keys, at every level") {
  check_all({
      {"'seed': 1", "'sed': 1", R"(s.json:1:3: /sed: found unknown key "sed"; did you mean "seed"?)"},
      {"'seed': 1", "'qqqqqqqq': 1",
       R"(s.json:1:3: /qqqqqqqq: expected one of "$schema", "name", "description", "seed", "policy_seed", "repetitions", "world", "billing", "minimum_node_s", "infeasible", "network_solver", "switching", "study", "cluster", "checkpoint", "failures", "stragglers", "maintenance", "datasets", "models", "convergence", "recipes", "sharing", "throughputs", "jobs", "baseline", "reference", "limits_margin", "policies", "manual", "profiling_reuse_jobs", "history", "stages", "output", "measure", "resample", "resample_block_s", "sha256", found unknown key "qqqqqqqq")"},
      {"'seed': 1", "'world': { 'model_eror': 0 }",
       R"(s.json:1:14: /world/model_eror: found unknown key "model_eror"; did you mean "model_error"?)"},
      {"'seed': 1", "'switching': { 'strat_s': 0 }",
       R"(s.json:1:18: /switching/strat_s: found unknown key "strat_s"; did you mean "start_s"?)"},
      {"'seed': 1", "'output': { 'event': 'none' }",
       R"(s.json:1:15: /output/event: found unknown key "event"; did you mean "events"?)"},
      {"'seed': 1", "'history': { 'run': 3 }", R"(s.json:1:16: /history/run: found unknown key "run"; did you mean "runs"?)"},
      {"'seed': 1", "'manual': { 'worker': 3 }",
       R"(s.json:1:15: /manual/worker: found unknown key "worker"; did you mean "workers"?)"},
      {"'seed': 1", "'manual': { 'by_model': { 'vgg16': { 'poool': 'gpu' } } }",
       R"(s.json:1:40: /manual/by_model/vgg16/poool: found unknown key "poool"; did you mean "pool"?)"},
      {"'cluster': { ", "'cluster': { 'netwrk': {}, ",
       R"(s.json:2:16: /cluster/netwrk: found unknown key "netwrk"; did you mean "network"?)"},
      {"'cluster': { ", "'cluster': { 'network': { 'oversubscripton': 2 }, ",
       R"(s.json:2:29: /cluster/network/oversubscripton: found unknown key "oversubscripton"; did you mean "oversubscription"?)"},
      {"'cluster': { ", "'cluster': { 'devices': [ { 'name': 'd', 'kind': 'gpu', 'peak_flops': { 'fp23': 1e12 } } ], ",
       "s.json:2:73: /cluster/devices/0/peak_flops: expected a key \"fp32\" (a number from 1000000 to 1e+21), found none\n"
       R"(s.json:2:75: /cluster/devices/0/peak_flops/fp23: found unknown key "fp23"; did you mean "fp32"?)"},
      {"'cluster': { ", "'cluster': { 'instances': [ { 'name': 'i', 'devices': [ { 'devise': 'k80' } ] } ], ",
       "s.json:2:59: /cluster/instances/0/devices/0: expected a key \"device\" (a text in double quotes), found none\n"
       R"(s.json:2:61: /cluster/instances/0/devices/0/devise: found unknown key "devise"; did you mean "device"?)"},
      {"'cluster': { ", "'cluster': { 'instances': [ { 'name': 'i', 'cpu': 'xeon-e5-2686-v4', 'inside': { 'latency': 0 } } ], ",
       R"(s.json:2:84: /cluster/instances/0/inside/latency: found unknown key "latency"; did you mean "latency_s"?)"},
      {"'nodes': 2", "'nodes': 2, 'price': 'spot'",
       R"(s.json:2:82: /cluster/pools/0/price: expected one of "name", "instance", "nodes", "pricing", "prices_usd_per_hour", "spot", "autoscale", found unknown key "price")"},
      {"'gpus': 1", "'gpus': 1, 'submit': 0",
       R"(s.json:3:26: /jobs/0/submit: found unknown key "submit"; did you mean "submit_s"?)"},
      {"'gpus': 1, 'duration_s': 60", "'generate': 'mixed-cnn-rnn', 'count': 1, 'arrivals': 3",
       R"(s.json:3:56: /jobs/0/arrivals: expected one of "generate", "name", "count", "first_submit_s", "arrivals_per_hour", "gpu_fraction", "deadline_factor", "accuracy_slack", "models", found unknown key "arrivals")"},
      {"'gpus': 1, 'duration_s': 60", "'trace': 'none.csv', 'fromat': 'native'",
       "s.json:3:36: /jobs/0/fromat: found unknown key \"fromat\"; did you mean \"format\"?\n"
       "s.json:3:24: /jobs/0/trace: expected a readable file, found no such file: none.csv"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'que': 'fifo' } ]",
       R"(s.json:4:32: /policies/0/que: found unknown key "que"; did you mean "queue"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'queue': { 'name': 'fifo', 'perpool': true } } ]",
       R"(s.json:4:59: /policies/0/queue/perpool: found unknown key "perpool"; did you mean "per_pool"?)"},
      {"'manual'", "{ 'name': 'x', 'queue': { 'process': ['./p'], 'timeout': 5 } }",
       R"(s.json:4:63: /policies/0/queue/timeout: found unknown key "timeout"; did you mean "timeout_s"?)"},
      {"'seed': 1", "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar10', 'cnn': { 'convlayers': 2 } } ]",
       R"(s.json:1:80: /models/0/cnn/convlayers: found unknown key "convlayers"; did you mean "conv_layers"?)"},
      {"'seed': 1", "'datasets': [ { 'name': 'd', 'training_samples': 8, 'validation_samples': 8, 'samples': 1 } ]",
       R"(s.json:1:80: /datasets/0/samples: expected one of "name", "training_samples", "validation_samples", found unknown key "samples")"},
  });
}

TEST_CASE("unknown names, with the nearest") {
  check_all({
      {"p3.2xlarge", "p3.2xlarg",
       R"(s.json:2:56: /cluster/pools/0/instance: expected the name of an instance, found "p3.2xlarg"; did you mean "p3.2xlarge"?)"},
      {"[ 'manual' ]", "[ 'manul' ]",
       R"(s.json:4:17: /policies/0: expected the name of a policy, found "manul"; did you mean "manual"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'configure': 'orcale' } ]",
       R"(s.json:4:45: /policies/0/configure: expected the name of a configure strategy, found "orcale"; did you mean "oracle"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'configure': { 'name': 'orcale' } } ]",
       R"(s.json:4:55: /policies/0/configure/name: expected the name of a configure strategy, found "orcale"; did you mean "oracle"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'place': 'dataparallel' } ]",
       R"(s.json:4:41: /policies/0/place: expected the name of a place strategy, found "dataparallel"; did you mean "data-parallel"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'threads': 'recomended' } ]",
       R"(s.json:4:43: /policies/0/threads: expected the name of a threads strategy, found "recomended"; did you mean "recommended"?)"},
      {"[ 'manual' ]",
       "[ { 'name': 'a', 'queue': { 'name': 'fifo', 'partitions': [ { 'name': 'x', 'quota': { 'gpv': 1 } } ] } } ]",
       R"(s.json:4:101: /policies/0/queue/partitions/0/quota/gpv: expected the name of a pool, found "gpv"; did you mean "gpu"?)"},
      {"[ 'manual' ]",
       "[ { 'name': 'a', 'queue': { 'name': 'fifo', 'partitions': [ { 'name': 'x', 'quota': { 'gpu': 3 } } ] } } ]",
       "s.json:4:108: /policies/0/queue/partitions/0/quota/gpu: expected a whole number from 0 to 2, found 3"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'queue': { 'name': 'drf', 'weights': { 'ann': 0 } } } ]",
       "s.json:4:78: /policies/0/queue/weights/ann: expected a number from 1e-06 to 1000000, found 0"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'queue': 'fiffo' } ]",
       R"(s.json:4:41: /policies/0/queue: expected the name of a queue strategy, found "fiffo"; did you mean "fifo"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'queue': 3 } ]",
       "s.json:4:41: /policies/0/queue: expected the name of a queue strategy, or an object with its name and parameters, found "
       "3"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'configure': { 'name': 'static-isotonic-shared', 'features': 'thesi' } } ]",
       R"(s.json:4:93: /policies/0/configure/features: expected one of "global-batch", "thesis", found "thesi"; did you mean "thesis"?)"},
      {"[ 'manual' ]", "[ { 'name': 'a', 'configure': { 'name': 'static-isotonic-shared', 'margin_quantile': 1.5 } } ]",
       "s.json:4:100: /policies/0/configure/margin_quantile: expected a number from 0 to 1, found 1.5"},
      {"[ 'manual' ]", "[ 'manual' ], 'baseline': 'manua'",
       R"(s.json:4:41: /baseline: expected the name of a listed policy, found "manua"; did you mean "manual"?)"},
      {"'duration_s': 60", "'duration_s': 60, 'pool': 'gpus'",
       R"(s.json:3:52: /jobs/0/pool: expected the name of a pool, found "gpus"; did you mean "gpu"?)"},
      {"'duration_s': 60", "'epochs': 1, 'model': 'resnet-50'",
       R"(s.json:3:48: /jobs/0/model: expected the name of a model, found "resnet-50"; did you mean "resnet50"?)"},
      {"'duration_s': 60", "'epochs': 1, 'model': 'resnet50', 'dataset': 'imagnet'",
       R"(s.json:3:71: /jobs/0/dataset: expected the name of a dataset, found "imagnet"; did you mean "imagenet"?)"},
      {"'duration_s': 60", "'duration_s': 60, 'objective': 'mincost'",
       R"(s.json:3:57: /jobs/0/objective: expected one of "min-cost", "max-accuracy", "min-time", found "mincost"; did you mean "min-cost"?)"},
      {"'gpus': 1, 'duration_s': 60", "'generate': 'mixed-cnn', 'count': 1",
       R"(s.json:3:27: /jobs/0/generate: expected one of "mixed-cnn-rnn", found "mixed-cnn"; did you mean "mixed-cnn-rnn"?)"},
      {"'gpus': 1, 'duration_s': 60", "'generate': 'mixed-cnn-rnn', 'count': 1, 'models': [ { 'model': 'vgg17' } ]",
       R"(s.json:3:79: /jobs/0/models/0/model: expected the name of a model, found "vgg17"; did you mean "vgg16"?)"},
      {"'gpus': 1, 'duration_s': 60", "'generate': 'mixed-cnn-rnn', 'count': 1, 'models': []",
       "s.json:3:66: /jobs/0/models: expected at least one model, found an empty list"},
      {"'gpus': 1, 'duration_s': 60", "'generate': 'mixed-cnn-rnn', 'count': 100, 'arrivals_per_hour': 1e-9",
       "s.json:3:13: /jobs/0: expected a count and arrivals_per_hour that end before 8589934592 s, found an object"},
      {"'gpus': 1, 'duration_s': 60", "'trace': 'none.csv', 'format': 'elasticflow-ridgid'",
       R"(s.json:3:46: /jobs/0/format: expected the name of a trace format, found "elasticflow-ridgid"; did you mean "elasticflow-rigid"?)"},
      {"'seed': 1", "'manual': { 'pool': 'gpv' }",
       R"(s.json:1:23: /manual/pool: expected the name of a pool, or "median", "cheapest" or "fastest", found "gpv"; did you mean "gpu"?)"},
      {"'seed': 1", "'manual': { 'pool': 'fasted' }",
       R"(s.json:1:23: /manual/pool: expected the name of a pool, or "median", "cheapest" or "fastest", found "fasted"; did you mean "fastest"?)"},
      {"'seed': 1", "'manual': { 'by_model': { 'vgg17': { 'workers': 1 } } }",
       R"(s.json:1:29: /manual/by_model/vgg17: expected the name of a model, found "vgg17"; did you mean "vgg16"?)"},
      {"'seed': 1", "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar', 'mlp': {} } ]",
       R"(s.json:1:60: /models/0/dataset: expected the name of a dataset, found "cifar"; did you mean "cifar10"?)"},
      {"'seed': 1",
       "'convergence': [ { 'model': 'vgg17', 'dataset': 'cifar10', 'reference_batch': 1, 'reference_epochs': 1, 'noise_scale': [ "
       "{ 'progress': 0, 'samples': 1 } ], 'phases': [ { 'start_progress': 0, 'ceiling': 0.9, 'scale': 1, 'exponent': 1 } ] } ]",
       R"(s.json:1:31: /convergence/0/model: expected the name of a model, found "vgg17"; did you mean "vgg16"?)"},
      {"'name': 'gpu', 'instance': 'p3.2xlarge', 'nodes': 2 } ]",
       "'name': 'gpu', 'instance': 'mine', 'nodes': 2 } ], 'instances': [ { 'name': 'mine', 'devices': [ { 'device': 'v10' } ] } "
       "]",
       R"(s.json:2:126: /cluster/instances/0/devices/0: expected the name of a device, found "v10"; did you mean "v100"?)"},
  });
}

TEST_CASE("names given twice") {
  check_all({
      {"'nodes': 2 }", "'nodes': 2 }, { 'name': 'gpu', 'instance': 'p2.xlarge', 'nodes': 1 }",
       R"(s.json:2:84: /cluster/pools/1: expected a name that is given once, found "gpu" again)"},
      {"[ 'manual' ]", "[ 'manual', 'oracle', 'manual' ]",
       R"(s.json:4:37: /policies/2: expected a policy name that is given once, found "manual" again)"},
      {"[ 'manual' ]",
       "[ { 'name': 'a', 'queue': { 'name': 'drf', 'partitions': [ { 'name': 'x', 'users': ['u', 'u'], 'quota': {} }, "
       "{ 'name': 'x', 'quota': {} } ] } } ]",
       "s.json:4:104: /policies/0/queue/partitions/0/users/1: expected a user of one partition, found \"u\" again\n"
       "s.json:4:125: /policies/0/queue/partitions/1: expected a partition's name that is given once, found \"x\" again"},
      {"[ 'manual' ]",
       "[ { 'name': 'a', 'queue': { 'name': 'drf', 'partitions': [ { 'name': 'x', 'users': [], 'quota': {} } ] } } ]",
       "s.json:4:98: /policies/0/queue/partitions/0/users: expected at least one user (left out, it has all whom no other "
       "partition "
       "names), found an empty list"},
      {"{ 'gpus': 1, ", "{ 'job_id': 'a', 'gpus': 1, 'duration_s': 5 }, { 'job_id': 'a', 'gpus': 1, ",
       R"(s.json:3:60: /jobs/1: expected a job_id that is given once, found "a" again)"},
      {"{ 'gpus': 1, ", "{ 'job_id': 'job-2', 'gpus': 1, 'duration_s': 5 }, { 'gpus': 1, ",
       R"(s.json:3:64: /jobs/1: expected a job_id that is given once, found "job-2" again)"},
      {"{ 'gpus': 1, ", "{ 'generate': 'mixed-cnn-rnn', 'count': 3 }, { 'job_id': 'mixed-0002', 'gpus': 1, ",
       R"(s.json:3:58: /jobs/1: expected a job_id that is given once, found "mixed-0002" again)"},
      {"{ 'gpus': 1, 'duration_s': 60 }",
       "{ 'generate': 'mixed-cnn-rnn', 'count': 3, 'name': 'g' }, { 'generate': 'mixed-cnn-rnn', 'count': 3, 'name': 'g' }",
       R"(s.json:3:71: /jobs/1: expected a generator's name that is given once, found "g" again)"},
      {"'cluster': { ",
       "'cluster': { 'devices': [ { 'name': 'd', 'kind': 'gpu', 'peak_flops': { 'fp32': 9e9 } }, { 'name': 'd', 'kind': 'gpu', "
       "'peak_flops': { 'fp32': 9e9 } } ], ",
       R"(s.json:2:92: /cluster/devices/1: expected a name that is given once, found "d" again)"},
      {"'cluster': { ", "'cluster': { 'instances': [ { 'name': 'i', 'cpu': 'c' }, { 'name': 'i', 'cpu': 'c' } ], ",
       R"(s.json:2:60: /cluster/instances/1: expected a name that is given once, found "i" again)"},
      {"'seed': 1",
       "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar10', 'mlp': {} }, { 'name': 'm', 'global_batch': 8, "
       "'dataset': 'cifar10', 'mlp': {} } ]",
       R"(s.json:1:84: /models/1: expected a name that is given once, found "m" again)"},
      {"'seed': 1",
       "'datasets': [ { 'name': 'd', 'training_samples': 8, 'validation_samples': 8 }, { 'name': 'd', 'training_samples': 8, "
       "'validation_samples': 8 } ]",
       R"(s.json:1:82: /datasets/1: expected a name that is given once, found "d" again)"},
  });
}

TEST_CASE("jobs whose keys contradict each other") {
  check_all({
      {"'gpus': 1, 'duration_s': 60", "'gpus': 1",
       "s.json:3:13: /jobs/0/duration_s: expected the job's work: duration_s, or steps, or epochs and/or target_accuracy, found "
       "none"},
      {"'duration_s': 60", "'duration_s': 60, 'steps': 5, 'model': 'vgg16', 'batch_size': 8",
       "s.json:3:53: /jobs/0/steps: expected nothing beside duration_s, found 5"},
      {"'duration_s': 60", "'duration_s': 60, 'epochs': 5, 'model': 'vgg16'",
       "s.json:3:54: /jobs/0/epochs: expected nothing beside duration_s or steps, found 5"},
      {"'gpus': 1, ", "", "s.json:3:13: /jobs/0/gpus: expected how many GPUs it held for duration_s, found none"},
      {"'duration_s': 60", "'steps': 60, 'model': 'vgg16'",
       "s.json:3:13: /jobs/0/batch_size: expected the global batch of its steps, found none"},
      {"'duration_s': 60", "'epochs': 3", "s.json:3:13: /jobs/0/model: expected what it trains, found none"},
      {"'duration_s': 60", "'duration_s': 60, 'dataset': 'cifar10'",
       "s.json:3:13: /jobs/0/model: expected the model that dataset, precision, lr_rule or max_accumulation is for, found none"},
      {"'duration_s': 60", "'duration_s': 60, 'precision': 'fp16'",
       "s.json:3:13: /jobs/0/model: expected the model that dataset, precision, lr_rule or max_accumulation is for, found none"},
      {"'duration_s': 60", "'duration_s': 60, 'on_deadline': 'stop'",
       "s.json:3:13: /jobs/0/deadline_s: expected the deadline to stop at, found none"},
      {"'duration_s': 60", "'epochs': 3, 'model': 'vgg16', 'stop': 'budget'",
       "s.json:3:13: /jobs/0/target_accuracy: expected the target that the budget is for, found none"},
      {"'gpus': 1, 'duration_s': 60", "'model': 'bert', 'target_accuracy': 0.5",
       R"(s.json:3:13: /jobs/0: expected no target_accuracy for job "job-1": the accuracy of bert on squad is not modelled (see "convergence"), found an object)"},
      {"'gpus': 1, 'duration_s': 60", "'generate': 'mixed-cnn-rnn', 'count': 1, 'models': [ { 'model': 'bert' } ]",
       R"(s.json:3:68: /jobs/0/models/0: expected a model whose accuracy is modelled; of bert on squad nothing is known (see "convergence"), found an object)"},
  });
}

TEST_CASE("targets above a recipe's ceiling name a recipe that reaches them") {
  check_all({
      {"'gpus': 1, 'duration_s': 60", "'model': 'resnet50', 'dataset': 'imagenet', 'target_accuracy': 0.76",
       R"(s.json:3:13: /jobs/0: expected a target_accuracy of at most 0.7544 for job "job-1" (resnet50 on imagenet is believed to get no further; the recipe "sgd-warmup" reaches it), or "infeasible" beside "jobs" to say what becomes of it, found 0.76)"},
      {"'gpus': 1, 'duration_s': 60",
       "'model': 'resnet50', 'dataset': 'imagenet', 'recipe': 'lars-smoothing', 'target_accuracy': 0.78",
       R"(s.json:3:13: /jobs/0: expected a target_accuracy of at most 0.7597 for job "job-1" (resnet50 on imagenet by the recipe "lars-smoothing" is believed to get no further), or "infeasible" beside "jobs" to say what becomes of it, found 0.78)"},
      {"'duration_s': 60", "'duration_s': 60, 'recipe': 'lars-smoothing'",
       "s.json:3:13: /jobs/0/model: expected the model that the recipe is for, found none"},
  });
}

TEST_CASE("recipes that cannot be") {
  const auto said = [](const std::string& recipes) {
    const TemporaryFolder folder;
    return complaints(folder, R"({ "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
      "recipes": [ )" + recipes + R"( ],
      "jobs": [ { "model": "resnet50", "dataset": "imagenet", "recipe": "ours", "epochs": 1 } ], "policies": [ "manual" ] })");
  };
  const std::string outcome =
      R"({ "model": "resnet50", "dataset": "imagenet", "reference_batch": 256, "epochs": 50, "final_accuracy": 0.77 })";
  CHECK(said(R"({ "name": "ours", "optimizer": "lars", "outcomes": [ )" + outcome + " ] }") == "");
  CHECK(said(R"({ "name": "ourz" })").find(R"(did you mean "ourz")") != std::string::npos);
  CHECK(said(R"({ "name": "ours" }, { "name": "ours" })").find("/recipes/1: expected a name that is given once") !=
        std::string::npos);
  CHECK(said(R"({ "name": "ours", "optimizer": "lamb" })").find("/recipes/0/optimizer: ") != std::string::npos);
  CHECK(said(R"({ "name": "ours", "label_smoothing": 1 })").find("/recipes/0/label_smoothing: ") != std::string::npos);
  CHECK(said(R"({ "name": "ours", "resizing": true })").find("/recipes/0/resizing: ") != std::string::npos);
  CHECK(said(R"({ "name": "ours", "outcomes": [ )" + outcome + ", " + outcome + " ] }")
            .find("/recipes/0/outcomes/1: expected a model and dataset that are given once") != std::string::npos);
  CHECK(said(R"({ "name": "ours", "outcomes": [ )" + with(outcome, "imagenet", "squad") + " ] }")
            .find("of resnet50 on squad nothing is known") != std::string::npos);
  CHECK(said(R"({ "name": "ours", "outcomes": [ )" + with(outcome, "0.77", "77") + " ] }")
            .find("/recipes/0/outcomes/0/final_accuracy: ") != std::string::npos);
  // A pair that gets nowhere cannot be brought to 0.77.
  const std::string dead = R"("convergence": [ { "model": "vgg19", "dataset": "cifar10", "reference_batch": 64,
    "reference_epochs": 10, "noise_scale": [ { "progress": 0, "samples": 500 } ],
    "phases": [ { "start_progress": 0, "ceiling": 0, "scale": 3, "exponent": 1 } ] } ], "recipes")";
  const TemporaryFolder folder;
  CHECK(complaints(folder, R"({ "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] }, )" + dead +
                               R"(: [ { "name": "ours", "outcomes": [ )" +
                               with(with(outcome, "imagenet", "cifar10"), "resnet50", "vgg19") +
                               R"( ] } ], "jobs": [ { "model": "resnet50", "epochs": 1 } ], "policies": [ "manual" ] })")
            .find("/recipes/0/outcomes/0: expected a training whose parameters keep this: ") != std::string::npos);
}

TEST_CASE("own hardware and models that cannot be") {
  check_all({
      {"'cluster': { ",
       "'cluster': { 'devices': [ { 'name': 'd', 'kind': 'gpu', 'peak_flops': { 'fp32': 1e12 }, 'idle_w': 300, 'busy_w': 200 } "
       "], ",
       "s.json:2:29: /cluster/devices/0: expected busy_w of at least idle_w, found an object"},
      {"'cluster': { ", "'cluster': { 'instances': [ { 'name': 'i' } ], ",
       "s.json:2:31: /cluster/instances/0: expected devices, or a cpu, or both, found an object"},
      {"'cluster': { ", "'cluster': { 'instances': [ { 'name': 'i', 'devices': [] } ], ",
       "s.json:2:57: /cluster/instances/0/devices: expected at least one device, found an empty list"},
      {"'instance': 'p3.2xlarge', 'nodes': 2 } ]",
       "'instance': 'i', 'nodes': 2 } ], 'instances': [ { 'name': 'i', 'devices': [ { 'device': 'k80' }, { 'device': 'v100' } ] "
       "} ]",
       R"(s.json:2:141: /cluster/instances/0/devices/1: expected one kind of GPU in a node, found "v100")"},
      {"'instance': 'p3.2xlarge', 'nodes': 2 } ]",
       "'instance': 'i', 'nodes': 2, 'pricing': 'spot' } ], 'instances': [ { 'name': 'i', 'devices': [ { 'device': 'k80' } ] } ]",
       "s.json:2:27: /cluster/pools/0: expected an instance with a spot price, found an object"},
      {"'nodes': 2", "'nodes': 1e6", ""},
      {"'instance': 'p3.2xlarge', 'nodes': 2", "'instance': 'p2.16xlarge', 'nodes': 1e6",
       "s.json:2:27: /cluster/pools/0: expected at most 10,000,000 devices in a pool, found an object"},
      {"'seed': 1", "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar10' } ]",
       "s.json:1:15: /models/0: expected exactly one of cnn, rnn and mlp, found an object"},
      {"'seed': 1", "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar10', 'mlp': {}, 'rnn': {} } ]",
       "s.json:1:15: /models/0: expected exactly one of cnn, rnn and mlp, found an object"},
      {"'seed': 1", "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar10', 'cnn': { 'conv_layers': 20000 } } ]",
       "s.json:1:78: /models/0/cnn/conv_layers: expected 0 to 10000, found 20000"},
      {"'seed': 1",
       "'models': [ { 'name': 'm', 'global_batch': 8, 'dataset': 'cifar10', 'cnn': { 'image_height': 1, 'kernel': 1000 } } ]",
       ""},
      {"'seed': 1", "'convergence': [ { 'model': 'vgg16', 'dataset': 'cifar10', 'reference_batch': 1, 'reference_epochs': 1 } ]",
       "s.json:1:20: /convergence/0: expected parameters for which this holds: there must be a noise scale, found an object\n"
       "s.json:1:20: /convergence/0: expected parameters for which this holds: the first accuracy phase must start at progress "
       "0, found an object"},
  });
}

TEST_CASE("manual's overrides") {
  check_all({
      {"'seed': 1", "'manual': { 'workers': 0 }",
       "s.json:1:26: /manual/workers: expected a whole number from 1 to 1000000, found 0"},
      {"'seed': 1", "'manual': { 'batch_size': 'paper' }",
       R"(s.json:1:29: /manual/batch_size: expected a whole number from 1 to 1000000000, or "publication", found "paper")"},
      {"'seed': 1", "'manual': { 'batch_size': 0 }",
       "s.json:1:29: /manual/batch_size: expected a whole number from 1 to 1000000000, found 0"},
      {"'seed': 1", "'manual': { 'sync': 'ring', 'servers': 2 }",
       "s.json:1:13: /manual: expected servers with sync servers-sync or servers-async, and none with ring, found an object"},
      {"'seed': 1", "'manual': { 'sync': 'servers-async', 'servers': 0 }",
       "s.json:1:13: /manual: expected servers with sync servers-sync or servers-async, and none with ring, found an object"},
      {"'seed': 1", "'manual': { 'sync': 'server' }",
       R"(s.json:1:23: /manual/sync: expected one of "ring", "servers-sync", "servers-async", found "server")"},
      {"'seed': 1", "'manual': { 'by_model': [] }",
       "s.json:1:27: /manual/by_model: expected an object with models as keys, found an empty list"},
      {"'seed': 1", "'manual': 3", "s.json:1:13: /manual: expected an object, found 3"},
  });
}

TEST_CASE("several mistakes are reported at once, each with its place") {
  const TemporaryFolder folder;
  CHECK(complaints(folder, R"({ "sed": 1, "baseline": "orcale",
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarg", "nodes": -2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": "60", "pool": "gpu" },
            { "model": "resnet51", "epochs": 3 },
            { "trace": "none.csv" } ],
  "policies": [ "manual", "oracl" ],
  "output": { "stages": 1 } })") ==
        "s.json:2:78: /cluster/pools/0/nodes: expected a whole number from 1 to 1000000, found -2\n"
        "s.json:2:56: /cluster/pools/0/instance: expected the name of an instance, found \"p3.2xlarg\"; did you mean "
        "\"p3.2xlarge\"?\n"
        "s.json:3:40: /jobs/0/duration_s: expected a number above 0 and of at most 8589934592, found \"60\"\n"
        "s.json:4:24: /jobs/1/model: expected the name of a model, found \"resnet51\"; did you mean \"resnet50\"?\n"
        "s.json:5:24: /jobs/2/trace: expected a readable file, found no such file: none.csv\n"
        "s.json:6:27: /policies/1: expected the name of a policy, found \"oracl\"; did you mean \"oracle\"?\n"
        "s.json:1:25: /baseline: expected the name of a listed policy, found \"orcale\"; did you mean \"oracl\"?\n"
        "s.json:7:25: /output/stages: expected one of \"none\", \"first\", \"all\", found 1\n"
        R"(s.json:1:3: /sed: found unknown key "sed"; did you mean "seed"?)");
}

TEST_CASE("a mistyped instance or device ends what is read of its pool, in studies, traces and checkpoints alike") {
  const TemporaryFolder folder;
  folder.write("t.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\n");
  const std::string mistyped = R"("cluster": { "pools": [ { "name": "v", "instance": "p2.8xlarg", "nodes": 2 } ] })";
  const std::string device =
      R"("cluster": { "instances": [ { "name": "i", "devices": [ { "device": "v10", "count": 4 } ] } ],
  "pools": [ { "name": "v", "instance": "i", "nodes": 2 } ] })";
  for (const std::string& cluster : {mistyped, device})
    for (
        const std::string rest : {
            R"("study": { "name": "placement", "graphs": [ { "model": "resnet50", "batch": 32 } ], "machines": [ { "pool": "v" } ],
                "methods": [ "metis" ] })",
            R"("study": "threads", "jobs": [ { "model": "resnet50", "steps": 5, "batch_size": 32 } ])",
            R"("study": { "name": "search", "space": { "cnn": {} }, "objectives": [ "accuracy", "latency" ], "methods": [ "random" ] })",
            R"("jobs": [ { "trace": "t.csv" } ], "policies": [ "manual" ])",
            R"("jobs": [ { "gpus": 1, "duration_s": 5 } ], "policies": [ "manual" ], "checkpoint": { "interval": "young-daly" },
                "maintenance": [ { "pool": "v", "start_s": 5, "duration_s": 5 } ])"}) {
      INFO(cluster << rest);
      const std::string said = complaints(folder, "{ " + cluster + ", " + rest + " }");
      CHECK(said.find(cluster == mistyped ? "did you mean \"p2.8xlarge\"?" : "did you mean \"v100\"?") != said.npos);
    }
}

TEST_CASE("a job with a mistake is one mistake, not also those of the jobs that wait for it") {
  check_all({
      {"{ 'gpus': 1, 'duration_s': 60 }",
       "{ 'job_id': 'a', 'target_accuracy': 0.5 }, { 'gpus': 1, 'duration_s': 60, 'after': [ 'a' ] }",
       "s.json:3:13: /jobs/0/model: expected what it trains, found none"},
  });
}

TEST_CASE("a slash in a policy's name is reported with the name") {
  check_all({
      {"'manual' ]", "{ 'name': 'a/b' } ]",
       "s.json:4:27: /policies/0/name: expected a policy name without slashes, found \"a/b\""},
  });
}

TEST_CASE("an objective of a search that is no text is one mistake") {
  const TemporaryFolder folder;
  CHECK(complaints(folder, R"({"study":{"name":"search","objectives":["accuracy",{}]}})") ==
        "s.json:1:10: /study: expected a key \"space\" (what is searched), found none\n"
        "s.json:1:52: /study/objectives/1: expected one of \"accuracy\", \"latency\", \"memory\", \"training-time\", \"cost\", "
        "\"energy\", found an empty object\n"
        "s.json:1:10: /study: expected a key \"methods\" (a list of search methods), found none");
}

TEST_CASE("of very many mistakes the first hundred are listed, the others counted") {
  const TemporaryFolder folder;
  std::string jobs = "17";
  for (int i = 1; i < 250; ++i) jobs += ",17";
  const std::string said = complaints(folder, with(kBase, "{ \"gpus\": 1, \"duration_s\": 60 }", jobs));
  CHECK(said.substr(said.size() - 13) == "\nand 150 more");
}

}  // namespace
