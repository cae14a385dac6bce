// Looking into a sweep's database.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <vector>

/// The rows of a query, columns separated by "|", null as "-".
inline std::vector<std::string> query(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  std::vector<std::string> rows;
  const auto add = [](void* to, int columns, char** values, char**) {
    std::string row;
    for (int c = 0; c < columns; ++c) row += (c == 0 ? "" : "|") + std::string(values[c] == nullptr ? "-" : values[c]);
    static_cast<std::vector<std::string>*>(to)->push_back(row);
    return 0;
  };
  const bool done =
      sqlite3_open(path.c_str(), &db) == SQLITE_OK && sqlite3_exec(db, sql.c_str(), add, &rows, nullptr) == SQLITE_OK;
  const std::string error = done ? "" : sqlite3_errmsg(db);
  sqlite3_close(db);
  if (!done) throw std::runtime_error(path + ": " + error);
  return rows;
}
