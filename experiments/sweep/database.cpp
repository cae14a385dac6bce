#include "experiments/sweep/database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "report/comparison.hpp"
#include "report/row_writer.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"
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

}  // namespace

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
      open_file(commits_often);
    } catch (...) {
      close();
      throw;
    }
  }
  ~Connection() {
    sqlite3_exec(db_, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);  // leaves one file
    close();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[noreturn]] void fail() const {
    const bool is_full = sqlite3_errcode(db_) == SQLITE_FULL || sqlite3_system_errno(db_) == ENOSPC;
    throw sim::InputError({.file = path_,
                           .expected = "a database that can be read and written",
                           .found = is_full ? std::strerror(ENOSPC) : sqlite3_errmsg(db_)});
  }
  void execute(const std::string& sql) const {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  sqlite3* get() const { return db_; }
  /// There is something in it that is worth a file.
  void keep() { is_empty_ = false; }

 private:
  void close() {
    sqlite3_close(db_);
    if (!is_empty_) return;
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) unlink((path_ + ending).c_str());
  }
  void open_file(bool commits_often) {
    if (sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK) fail();
    sqlite3_busy_timeout(db_, 10'000);  // for those who read meanwhile
    check_owner();
    // With a write-ahead log a commit needs no fsync to survive this process, and readers may read meanwhile.
    execute(commits_often ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL" : "PRAGMA journal_mode = DELETE");
  }
  void check_owner();

  std::string path_;
  DatabaseLock lock_;
  bool is_empty_;  ///< and new: no file is left of it
  sqlite3* db_ = nullptr;
};

namespace {

class Statement {
 public:
  template <class Connection>
  Statement(const Connection& connection, const std::string& sql) : db_(connection.get()) {
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) connection.fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(std::string_view value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Statement& number(double value) {  // a NaN is null
    sqlite3_bind_double(statement_, ++bound_, value);
    return *this;
  }
  Statement& integer(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& null() {
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }
  /// JSON: numbers and texts as such, all else as it is written.
  Statement& json(const std::string& value) {
    const sim::JsonDocument document = sim::parse_json(value, {});
    if (document.root().is_string()) return text(document.root().text());
    if (!document.root().is_number()) return text(value);
    const double number = document.root().number();
    if (number == std::floor(number) && std::abs(number) < 0x1p53) return integer(static_cast<std::int64_t>(number));
    return this->number(number);
  }
  /// Whether there is a row; without one, it may be bound again.
  template <class Connection>
  bool step(const Connection& connection) {
    const int status = sqlite3_step(statement_);
    if (status == SQLITE_ROW) return true;
    if (sqlite3_reset(statement_) != SQLITE_OK) connection.fail();
    bound_ = 0;
    return false;
  }
  std::string text_at(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
  }
  std::int64_t integer_at(int column) const { return sqlite3_column_int64(statement_, column); }
  sqlite3_stmt* get() const { return statement_; }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// All that is done in it, or nothing.
template <class Connection, class Work>
void in_transaction(const Connection& connection, Work&& work) {
  connection.execute("BEGIN IMMEDIATE");
  try {
    work();
    connection.execute("COMMIT");
  } catch (...) {
    sqlite3_exec(connection.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

}  // namespace

void SweepDatabase::Connection::check_owner() {
  const auto value = [&](const std::string& sql) {
    Statement statement(*this, sql);
    return statement.step(*this) ? statement.text_at(0) : std::string();
  };
  if (value("SELECT count(*) FROM sqlite_master") == "0") {
    in_transaction(*this, [&] {
      execute(runs_table() +
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
  const Connection& db = *connection_;
  std::string columns, selected, places;
  for (const SweepAxis& axis : plan.axes()) {
    columns += ", " + sql_quoted(axis.pointer, '"');
    selected += ", points." + sql_quoted(axis.pointer, '"');
    places += ", ?";
  }
  std::string metrics;
  for (const report::MetricField& field : report::metric_fields()) metrics += fmt::format(", {}", field.name);
  in_transaction(db, [&] {
    db.execute(
        "DROP VIEW IF EXISTS savings; DROP VIEW IF EXISTS results; DROP TABLE IF EXISTS plan; DROP TABLE IF EXISTS points;"
        "CREATE TABLE plan(row INTEGER PRIMARY KEY, point INTEGER NOT NULL, policy TEXT NOT NULL, repetition INTEGER NOT NULL, "
        "key TEXT NOT NULL);"
        "CREATE TABLE points(point INTEGER PRIMARY KEY" +
        columns + ");");
    db.execute("CREATE VIEW results AS SELECT plan.row, plan.point" + selected +
               ", plan.policy, plan.repetition, runs.status, runs.reason" + metrics +
               ", plan.key FROM plan JOIN points USING (point) JOIN runs USING (key)");
    db.execute(
        "CREATE VIEW savings AS SELECT mine.*, 100 * (1 - mine.effective_cost_usd / base.effective_cost_usd) AS "
        "effective_saving_percent"
        " FROM results AS mine JOIN results AS base ON base.point = mine.point AND base.repetition = mine.repetition AND "
        "base.policy = " +
        sql_quoted(plan.first().baseline, '\''));
    Statement meta(db, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
    meta.text("scenario").text(plan.text()).step(db);
    meta.text("name").text(plan.name()).step(db);
    meta.text("program").text(SweepPlan::program()).step(db);
    meta.text("version").text(sim::program_version()).step(db);
    meta.text("baseline").text(plan.first().baseline).step(db);
    Statement point(db, "INSERT INTO points VALUES (?" + places + ")");
    for (std::size_t p = 0; p < plan.points(); ++p) {
      point.integer(static_cast<std::int64_t>(p));
      for (const std::string& value : plan.values_at(p)) point.json(value);
      point.step(db);
    }
    Statement row(db, "INSERT INTO plan VALUES (?, ?, ?, ?, ?)");
    for (std::size_t r = 0; r < runs.size(); ++r)
      row.integer(static_cast<std::int64_t>(r))
          .integer(static_cast<std::int64_t>(runs[r].point))
          .text(runs[r].policy_name)
          .integer(runs[r].repetition)
          .text(runs[r].key)
          .step(db);
    db.execute("CREATE INDEX plan_of_point ON plan(point, repetition, policy)");
  });
  connection_->keep();
}

std::string SweepDatabase::program() const {
  Statement value(*connection_, "SELECT value FROM meta WHERE name = 'program'");
  return value.step(*connection_) ? value.text_at(0) : std::string();
}

std::set<std::string> SweepDatabase::keys() const {
  std::set<std::string> keys;
  Statement all(*connection_, "SELECT key FROM runs");
  while (all.step(*connection_)) keys.insert(all.text_at(0));
  return keys;
}

void SweepDatabase::forget_failed() {
  in_transaction(*connection_, [&] {
    connection_->execute(
        "DELETE FROM timing WHERE key IN (SELECT key FROM runs WHERE status <> 'ok'); DELETE FROM runs WHERE status <> 'ok'");
  });
}

void SweepDatabase::add(std::span<const SweepRow> rows) {
  const Connection& db = *connection_;
  std::string places;
  for (std::size_t f = 0; f < report::metric_fields().size(); ++f) places += ", ?";
  in_transaction(db, [&] {
    Statement run(db, "INSERT OR REPLACE INTO runs VALUES (?, ?, ?" + places + ")");
    Statement timing(db, "INSERT OR REPLACE INTO timing VALUES (?, ?, ?, ?)");
    for (const SweepRow& row : rows) {
      run.text(row.key).text(name_of(row.status)).text_or_null(row.reason);
      for (std::size_t f = 0; f < report::metric_fields().size(); ++f)
        row.metrics.empty() ? run.null() : run.number(row.metrics[f]);
      run.step(db);
      timing.text(row.key).number(row.run_s).number(row.cpu_s).number(row.decision_time_s).step(db);
    }
  });
}

std::vector<SweepDatabase::Count> SweepDatabase::counts() const {
  std::vector<Count> counts;
  // Of the columns beside min(), SQLite takes the row that has the least (its documentation of SELECT, "Bare columns").
  Statement all(*connection_, "SELECT status, count(*), reason, min(row) FROM results GROUP BY status ORDER BY min(row)");
  while (all.step(*connection_))
    counts.push_back({.status = all.text_at(0), .reason = all.text_at(2), .runs = static_cast<std::size_t>(all.integer_at(1))});
  return counts;
}

void SweepDatabase::write_csv(const std::string& path) const {
  Statement all(*connection_, "SELECT * FROM results ORDER BY row");
  report::RowWriter out{sim::OutputFile(path)};
  const int columns = sqlite3_column_count(all.get());
  for (int c = 0; c < columns; ++c) out.text(sqlite3_column_name(all.get(), c));
  out.end_row();
  while (all.step(*connection_)) {
    for (int c = 0; c < columns; ++c) {
      const int type = sqlite3_column_type(all.get(), c);
      if (type == SQLITE_INTEGER)
        out.integer(all.integer_at(c));
      else if (type == SQLITE_FLOAT)
        out.number(sqlite3_column_double(all.get(), c));
      else
        out.text(all.text_at(c));
    }
    out.end_row();
  }
  out.close();
}

}  // namespace rehearse::scenarios
