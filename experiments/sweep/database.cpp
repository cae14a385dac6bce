#include "experiments/sweep/database.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <type_traits>

#include "experiments/run/results_place.hpp"
#include "report/comparison.hpp"
#include "report/row_writer.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/version.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/file.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace {

constexpr int kApplication = 0x52485357;  // "RHSW" in the file's header
constexpr int kFormat = 1;

std::string sql_quoted(std::string_view name, char quote) {
  std::string out(1, quote);
  for (const char c : name) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

std::string runs_table() {
  std::string sql = "CREATE TABLE runs(key TEXT PRIMARY KEY, status TEXT NOT NULL, reason TEXT";
  for (const report::MetricField& field : report::metric_fields()) sql += fmt::format(", {} REAL", field.name);
  return sql + ") WITHOUT ROWID";
}

constexpr const char* kSumsTable = "CREATE TABLE IF NOT EXISTS sums(key TEXT PRIMARY KEY, sum TEXT NOT NULL) WITHOUT ROWID";
constexpr int kBusyTimeoutMs = 10'000;  // for those who read meanwhile

std::string value_of(SQLite::Database& db, const std::string& sql) {
  SQLite::Statement statement(db, sql);
  return statement.executeStep() ? statement.getColumn(0).getText() : std::string();
}

/// The header of a sweep's database (SQLite's file format, 1.3).
class Header {
 public:
  explicit Header(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    is_whole_ = !!file.read(reinterpret_cast<char*>(bytes_), sizeof bytes_);
  }
  bool is_of_sweep() const { return is_whole_ && std::memcmp(bytes_, "SQLite format 3", 16) == 0 && word(68) == kApplication; }
  /// Bytes of the file: page size times pages; 0: it does not say.
  std::uint64_t file_bytes() const {
    const std::uint64_t page = std::uint64_t{bytes_[16]} << 8 | bytes_[17];
    return is_of_sweep() && word(24) == word(92) ? word(28) * (page == 1 ? 65536 : page) : 0;
  }

 private:
  std::uint64_t word(int at) const {
    std::uint64_t value = 0;
    for (int i = at; i < at + 4; ++i) value = value << 8 | bytes_[i];
    return value;
  }
  unsigned char bytes_[100] = {};
  bool is_whole_ = false;
};

/// SQLite takes what is missing at the end of a file for zeros. What a log beside it has still to be written there is not
/// counted.
void check_size(const std::string& path) {
  for (const char* ending : {"-wal", "-journal"})
    if (access((path + ending).c_str(), F_OK) == 0) return;
  std::error_code none;
  const std::uint64_t expected = Header(path).file_bytes(), found = std::filesystem::file_size(path, none);
  if (!none && found < expected) throw DamagedDatabase(path, fmt::format("{} bytes", expected), fmt::format("{}", found));
}

/// A row of the table, as SQLite has it; nothing where it is none of ours.
std::optional<SweepRow> row_at(SQLite::Statement& all) {
  const auto status = status_of_name(all.getColumn(1).getText());
  if (!status) return {};
  SweepRow row{.key = all.getColumn(0).getText(), .status = *status, .reason = all.getColumn(2).getText(), .metrics = {}};
  for (int f = 0; f < static_cast<int>(report::metric_fields().size()); ++f) {
    const SQLite::Column value = all.getColumn(3 + f);
    if (!value.isNull() && !value.isFloat()) return {};
    if (row.status == RunStatus::ok) row.metrics.push_back(value.isNull() ? sim::kNan : value.getDouble());
    if (row.status != RunStatus::ok && !value.isNull()) return {};
  }
  return row;
}

/// Calls `each(row, holds)`: nothing is a row that cannot be read. Rows of versions that wrote no sums are left out.
template <class Each>
void each_row(SQLite::Database& db, Each&& each) {
  if (value_of(db, "SELECT count(*) FROM sqlite_master WHERE name = 'sums'") == "0") return;
  SQLite::Statement all(db, "SELECT runs.*, sums.sum FROM runs JOIN sums USING (key)");
  const int sum = 3 + static_cast<int>(report::metric_fields().size());
  while (all.executeStep()) {
    const std::optional<SweepRow> row = row_at(all);
    each(row, row && sum_of(*row) == all.getColumn(sum).getText());
  }
}

/// What runs are planned and how they are shown: rows of two tables, and the views.
std::string sum_of_plan(SQLite::Database& db) {
  std::string text;
  for (const char* sql : {"SELECT * FROM plan ORDER BY row", "SELECT * FROM points ORDER BY point",
                          "SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY name"}) {
    SQLite::Statement all(db, sql);
    while (all.executeStep()) {
      for (int c = 0; c < all.getColumnCount(); ++c) {
        const SQLite::Column value = all.getColumn(c);
        text += value.isFloat() ? fmt::format("{}", value.getDouble()) : value.getText();
        text += '\n';
      }
    }
  }
  return sim::sha256_of_text(text);
}

/// Structure and rows. Throws DamagedDatabase.
void check_content(SQLite::Database& db, const std::string& path) {
  std::string integrity = value_of(db, "PRAGMA integrity_check(1)");
  integrity = integrity.substr(integrity.find('\n') + 1);  // behind a line that names the database "main"
  if (integrity != "ok") throw DamagedDatabase(path, "what SQLite finds whole", integrity);
  std::size_t rows = 0;
  each_row(db, [&](const std::optional<SweepRow>& row, bool holds) {
    ++rows;
    if (!holds)
      throw DamagedDatabase(path, "rows as they were written",
                            row ? "another content of run " + row->key : "a row without a status");
  });
  if (value_of(db, "SELECT count(*) FROM sqlite_master WHERE name = 'sums'") == "0") return;
  const std::string sums = value_of(db, "SELECT count(*) FROM sums");
  if (sums != std::to_string(rows)) throw DamagedDatabase(path, fmt::format("rows of {} runs", sums), fmt::format("{}", rows));
}

}  // namespace

DamagedDatabase::DamagedDatabase(const std::string& path, const std::string& expected, const std::string& found)
    : sim::InputError(
          {.file = path,
           .expected = fmt::format(
               "{}, in an undamaged database (the sweep with --retry keeps what holds and runs the rest again)", expected),
           .found = found}) {}

/// Held while a process writes to the database; the system lets go of it however the process ends, and children do not have it.
class DatabaseLock {
 public:
  explicit DatabaseLock(const std::string& path)
      : path_(path + "-lock"), fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (fd_ >= 0 && fcntl(fd_, F_SETLK, &whole) == 0) return;
    const int number = errno;
    const bool is_held = fd_ >= 0;
    if (fd_ >= 0) close(fd_);
    throw sim::InputError({.file = path,
                           .expected = "a file that can be written",
                           .found = is_held ? "one that another sweep writes to" : std::strerror(number)});
  }
  ~DatabaseLock() {
    unlink(path_.c_str());
    close(fd_);
  }
  DatabaseLock(const DatabaseLock&) = delete;
  DatabaseLock& operator=(const DatabaseLock&) = delete;

 private:
  std::string path_;
  int fd_;
};

class SweepDatabase::Connection {
 public:
  Connection(const std::string& path, bool commits_often) : path_(path), lock_(path), is_empty_(access(path.c_str(), F_OK) != 0) {
    try {
      told([&] { open_file(commits_often); });
    } catch (...) {
      close();
      throw;
    }
  }
  ~Connection() {
    db_->tryExec("PRAGMA journal_mode = DELETE");  // leaves one file
    close();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  SQLite::Database& db() { return *db_; }
  const std::string& path() const { return path_; }
  /// What `work` returns. What SQLite refuses in it becomes an InputError.
  template <class Work>
  std::invoke_result_t<Work> told(Work&& work) {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() == SQLITE_CORRUPT) throw DamagedDatabase(path_, "what SQLite can read", error.what());
      const bool is_full = error.getErrorCode() == SQLITE_FULL || (db_ && sqlite3_system_errno(db_->getHandle()) == ENOSPC);
      throw sim::InputError({.file = path_,
                             .expected = "a database that can be read and written",
                             .found = is_full ? std::strerror(ENOSPC) : error.what()});
    }
  }
  /// All that is done in it, or nothing.
  template <class Work>
  void in_transaction(Work&& work) {
    told([&] {
      SQLite::Transaction transaction(*db_, SQLite::TransactionBehavior::IMMEDIATE);
      told([&] {  // before it is rolled back, which has errors of its own
        work();
        transaction.commit();
      });
    });
  }
  /// There is something in it that is worth a file.
  void keep() { is_empty_ = false; }

 private:
  void close() {
    db_.reset();
    if (!is_empty_) return;
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) unlink((path_ + ending).c_str());
  }
  void open_file(bool commits_often) {
    check_size(path_);
    db_.emplace(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
    check_owner();
    check_content(*db_, path_);
    db_->exec(kSumsTable);
    // With a write-ahead log a commit needs no fsync to survive this process, and readers may read meanwhile.
    db_->exec(commits_often ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL" : "PRAGMA journal_mode = DELETE");
  }
  void check_owner();

  std::string path_;
  DatabaseLock lock_;
  bool is_empty_;  ///< and new: no file is left of it
  std::optional<SQLite::Database> db_;
};

namespace {

std::string text_at(SQLite::Statement& row, int column) { return row.getColumn(column).getText(); }

/// A row to be inserted, value after value, and again.
class Insertion {
 public:
  Insertion(SQLite::Database& db, const std::string& sql) : statement_(db, sql) {}

  template <class Value>
  Insertion& add(const Value& value) {  // a NaN is null
    statement_.bind(++bound_, value);
    return *this;
  }
  Insertion& add(std::string_view value) { return add(std::string(value)); }
  Insertion& null() {
    statement_.bind(++bound_);
    return *this;
  }
  /// JSON: numbers and texts as such, all else as it is written.
  Insertion& json(const std::string& value) {
    const sim::JsonDocument document = sim::parse_json(value, {});
    if (document.root().is_string()) return add(std::string(document.root().text()));
    if (!document.root().is_number()) return add(value);
    const double number = document.root().number();
    if (number == std::floor(number) && std::abs(number) < 0x1p53) return add(static_cast<std::int64_t>(number));
    return add(number);
  }
  void insert() {
    statement_.exec();
    statement_.reset();
    bound_ = 0;
  }

 private:
  SQLite::Statement statement_;
  int bound_ = 0;
};

}  // namespace

void SweepDatabase::Connection::check_owner() {
  const auto value = [&](const std::string& sql) { return value_of(*db_, sql); };
  if (value("SELECT count(*) FROM sqlite_master") == "0") {
    in_transaction([&] {
      db_->exec(runs_table() +
                ";CREATE TABLE timing(key TEXT PRIMARY KEY, run_s REAL, cpu_s REAL, decision_time_s REAL) WITHOUT ROWID;"
                "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;" +
                fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kFormat));
    });
    return;
  }
  const auto refuse = [&](const std::string& expected, const std::string& found) {
    throw sim::InputError({.file = path_, .expected = expected, .found = found});
  };
  if (value("PRAGMA application_id") != std::to_string(kApplication))
    refuse("a new file, or results of a sweep", "another database");
  if (value("PRAGMA user_version") != std::to_string(kFormat) ||
      value("SELECT sql FROM sqlite_master WHERE name = 'runs'") != runs_table())
    refuse("results of a sweep by this version", "another version's: choose another file (--out)");
}

namespace {

/// What of a damaged file can be read, up to where SQLite finds it torn. A short one is made as long as SQLite wants it.
std::vector<SweepRow> rows_that_hold(const std::string& path) {
  std::vector<SweepRow> rows;
  constexpr std::uint64_t kMostMissing = std::uint64_t{1} << 30;  // the header may be damaged too
  std::error_code none;
  const std::uint64_t expected = Header(path).file_bytes(), found = std::filesystem::file_size(path, none);
  if (found < expected && expected - found < kMostMissing) std::filesystem::resize_file(path, expected, none);
  try {
    SQLite::Database db(path, SQLite::OPEN_READONLY, kBusyTimeoutMs);
    each_row(db, [&](const std::optional<SweepRow>& row, bool holds) {
      if (holds) rows.push_back(*row);
    });
  } catch (const SQLite::Exception&) {
  }
  return rows;
}

}  // namespace

std::string SweepDatabase::repair(const std::string& path) {
  try {
    const SweepDatabase whole(path, false);
    return {};
  } catch (const DamagedDatabase&) {
    if (!Header(sim::behind_links(path)).is_of_sweep()) throw;
  }
  const std::string at = sim::behind_links(path), damaged = at + ".damaged";
  {
    const DatabaseLock lock(at);
    if (!sim::rename_path(at, damaged)) sim::refuse_output(damaged, errno);
    for (const char* ending : {"-wal", "-shm", "-journal"}) unlink((at + ending).c_str());
  }
  const std::vector<SweepRow> rows = rows_that_hold(damaged);
  SweepDatabase repaired(path, false);
  repaired.add(rows);
  repaired.connection_->keep();
  return fmt::format("{} was damaged: {} of its rows hold and are kept, all other runs are run again; the damaged file is {}",
                     path, rows.size(), damaged);
}

SweepDatabase::SweepDatabase(const std::string& path, bool commits_often) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // opening the file tells
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  sim::check_output(path);
  if (sim::is_streamed(path))
    throw sim::InputError({.file = path, .expected = "a file, which a database can be", .found = "a pipe or a device"});
  connection_ = std::make_unique<Connection>(sim::behind_links(path), commits_often);  // one lock, whatever the name
}

SweepDatabase::~SweepDatabase() = default;

void SweepDatabase::set_plan(const SweepPlan& plan, const std::vector<PlannedRun>& runs) {
  SQLite::Database& db = connection_->db();
  std::string columns, selected, places;
  for (const SweepAxis& axis : plan.axes()) {
    columns += ", " + sql_quoted(axis.pointer, '"');
    selected += ", points." + sql_quoted(axis.pointer, '"');
    places += ", ?";
  }
  std::string metrics;
  for (const report::MetricField& field : report::metric_fields()) metrics += fmt::format(", {}", field.name);
  connection_->in_transaction([&] {
    db.exec(
        "DROP VIEW IF EXISTS savings; DROP VIEW IF EXISTS results; DROP TABLE IF EXISTS plan; DROP TABLE IF EXISTS points;"
        "CREATE TABLE plan(row INTEGER PRIMARY KEY, point INTEGER NOT NULL, policy TEXT NOT NULL, repetition INTEGER NOT NULL, "
        "key TEXT NOT NULL);"
        "CREATE TABLE points(point INTEGER PRIMARY KEY" +
        columns + ");");
    db.exec("CREATE VIEW results AS SELECT plan.row, plan.point" + selected +
            ", plan.policy, plan.repetition, runs.status, runs.reason" + metrics +
            ", plan.key FROM plan JOIN points USING (point) JOIN runs USING (key)");
    db.exec(
        "CREATE VIEW savings AS SELECT mine.*, 100 * (1 - mine.effective_cost_usd / base.effective_cost_usd) AS "
        "effective_saving_percent"
        " FROM results AS mine JOIN results AS base ON base.point = mine.point AND base.repetition = mine.repetition AND "
        "base.policy = " +
        sql_quoted(plan.first().baseline, '\''));
    Insertion meta(db, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
    meta.add("scenario").add(plan.text()).insert();
    meta.add("name").add(plan.name()).insert();
    meta.add("program").add(SweepPlan::program()).insert();
    meta.add("version").add(sim::program_version()).insert();
    meta.add("baseline").add(plan.first().baseline).insert();
    Insertion point(db, "INSERT INTO points VALUES (?" + places + ")");
    for (std::size_t p = 0; p < plan.points(); ++p) {
      point.add(static_cast<std::int64_t>(p));
      for (const std::string& value : plan.values_at(p)) point.json(value);
      point.insert();
    }
    Insertion row(db, "INSERT INTO plan VALUES (?, ?, ?, ?, ?)");
    for (std::size_t r = 0; r < runs.size(); ++r)
      row.add(static_cast<std::int64_t>(r))
          .add(static_cast<std::int64_t>(runs[r].point))
          .add(runs[r].policy_name)
          .add(runs[r].repetition)
          .add(runs[r].key)
          .insert();
    db.exec("CREATE INDEX plan_of_point ON plan(point, repetition, policy)");
    meta.add("plan_sha256").add(sum_of_plan(db)).insert();
  });
  connection_->keep();
}

void SweepDatabase::take_for(const std::string& scenario_path) {
  const std::string folder = std::filesystem::path(connection_->path()).parent_path().string();
  const std::string there =
      connection_->told([&] { return value_of(connection_->db(), "SELECT value FROM meta WHERE name = 'scenario_path'"); });
  if (is_of_another_file(folder, there, scenario_path))
    throw sim::InputError(
        {.file = connection_->path(),
         .expected = "a new file, or results of this scenario's sweep (--out names another file)",
         .found = "those of " +
                  sim::printable(std::filesystem::proximate(std::filesystem::path(folder) / there).string(), sim::kWholeText)});
  connection_->in_transaction([&] {
    Insertion meta(connection_->db(), "INSERT OR REPLACE INTO meta VALUES (?, ?)");
    meta.add("scenario_path").add(scenario_path).insert();
  });
}

std::string SweepDatabase::program() const {
  return connection_->told([&] { return value_of(connection_->db(), "SELECT value FROM meta WHERE name = 'program'"); });
}

std::set<std::string> SweepDatabase::keys() const {
  return connection_->told([&] {
    std::set<std::string> keys;
    SQLite::Statement all(connection_->db(), "SELECT key FROM runs JOIN sums USING (key)");
    while (all.executeStep()) keys.insert(text_at(all, 0));
    return keys;
  });
}

void SweepDatabase::forget_failed() {
  connection_->in_transaction([&] {
    connection_->db().exec(
        "DELETE FROM timing WHERE key IN (SELECT key FROM runs WHERE status <> 'ok');"
        "DELETE FROM sums WHERE key IN (SELECT key FROM runs WHERE status <> 'ok'); DELETE FROM runs WHERE status <> 'ok'");
  });
}

void SweepDatabase::add(std::span<const SweepRow> rows) {
  SQLite::Database& db = connection_->db();
  std::string places;
  for (std::size_t f = 0; f < report::metric_fields().size(); ++f) places += ", ?";
  connection_->in_transaction([&] {
    Insertion run(db, "INSERT OR REPLACE INTO runs VALUES (?, ?, ?" + places + ")");
    Insertion timing(db, "INSERT OR REPLACE INTO timing VALUES (?, ?, ?, ?)"),
        sum(db, "INSERT OR REPLACE INTO sums VALUES (?, ?)");
    for (const SweepRow& row : rows) {
      run.add(row.key).add(name_of(row.status));
      row.reason.empty() ? run.null() : run.add(row.reason);
      for (std::size_t f = 0; f < report::metric_fields().size(); ++f) row.metrics.empty() ? run.null() : run.add(row.metrics[f]);
      run.insert();
      sum.add(row.key).add(sum_of(row)).insert();
      timing.add(row.key).add(row.run_s).add(row.cpu_s).add(row.decision_time_s).insert();
    }
  });
}

std::vector<SweepDatabase::Count> SweepDatabase::counts() const {
  return connection_->told([&] {
    std::vector<Count> counts;
    // Of the columns beside min(), SQLite takes the row that has the least (its documentation of SELECT, "Bare columns").
    SQLite::Statement all(connection_->db(),
                          "SELECT status, count(*), reason, min(row) FROM results GROUP BY status ORDER BY min(row)");
    while (all.executeStep())
      counts.push_back(
          {.status = text_at(all, 0), .reason = text_at(all, 2), .runs = static_cast<std::size_t>(all.getColumn(1).getInt64())});
    return counts;
  });
}

std::vector<SweepFigures> SweepDatabase::figures(std::size_t points) const {
  return connection_->told([&] {
    std::vector<SweepFigures> rows;
    SQLite::Statement all(connection_->db(),
                          "SELECT point, policy, limits_broken / nullif(jobs, 0), effective_cost_usd, jobs, jobs_completed, "
                          "jct_mean_s, cost_usd, jct_p95_s, makespan_s, energy_kwh FROM results "
                          "WHERE status = 'ok' AND point < ? ORDER BY row");
    all.bind(1, static_cast<std::int64_t>(points));
    const auto number = [&](int column) {
      return all.getColumn(column).isNull() ? sim::kNan : all.getColumn(column).getDouble();
    };
    while (all.executeStep())
      rows.push_back({.point = static_cast<std::size_t>(all.getColumn(0).getInt64()),
                      .policy = text_at(all, 1),
                      .broken_share = number(2),
                      .effective_cost_usd = number(3),
                      .jobs = number(4),
                      .jobs_completed = number(5),
                      .jct_mean_s = number(6),
                      .cost_usd = number(7),
                      .jct_p95_s = number(8),
                      .makespan_s = number(9),
                      .energy_kwh = number(10)});
    return rows;
  });
}

namespace {

/// Returns the names of the columns.
std::vector<std::string> write_rows(SQLite::Database& db, const std::string& path) {
  SQLite::Statement all(db,
                        "SELECT results.*, savings.effective_saving_percent FROM results LEFT JOIN savings ON savings.row = "
                        "results.row ORDER BY results.row");
  report::RowWriter out{sim::OutputFile(path)};
  std::vector<std::string> columns;
  for (int c = 0; c < all.getColumnCount(); ++c) out.text(columns.emplace_back(all.getColumnName(c)));
  out.end_row();
  while (all.executeStep()) {
    for (int c = 0; c < all.getColumnCount(); ++c) {
      const SQLite::Column value = all.getColumn(c);
      if (value.isInteger())
        out.integer(value.getInt64());
      else if (value.isFloat())
        out.number(value.getDouble());
      else
        out.text(value.getText());
    }
    out.end_row();
  }
  out.close();
  return columns;
}

}  // namespace

void SweepDatabase::write_csv(const std::string& path) const {
  connection_->told([&] { write_rows(connection_->db(), path); });
}

bool is_database(const std::string& path) {
  constexpr std::string_view kHead = "SQLite format 3";
  char head[kHead.size()] = {};
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;  // what a pipe has given is gone
  std::ifstream file(path, std::ios::binary);
  return file.read(head, sizeof head) && std::string_view(head, sizeof head) == kHead;
}

std::vector<std::string> export_sweep(const std::string& database, const std::string& csv) {
  try {
    check_size(database);
    SQLite::Database db(database, SQLite::OPEN_READONLY, kBusyTimeoutMs);
    SQLite::Statement owner(db, "PRAGMA application_id");
    if (!owner.executeStep() || owner.getColumn(0).getInt() != kApplication)
      throw sim::InputError({.file = database, .expected = "results of a sweep", .found = "another database"});
    check_content(db, database);
    const std::string plan = value_of(db, "SELECT value FROM meta WHERE name = 'plan_sha256'");
    if (!plan.empty() && plan != sum_of_plan(db)) throw DamagedDatabase(database, "the plan as it was written", "another one");
    std::vector<std::string> columns = write_rows(db, csv);
    std::erase_if(columns, [](const std::string& column) { return !column.starts_with('/'); });
    return columns;
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() == SQLITE_CORRUPT) throw DamagedDatabase(database, "what SQLite can read", error.what());
    throw sim::InputError({.file = database, .expected = "a database that can be read", .found = error.what()});
  }
}

}  // namespace rehearse::scenarios
