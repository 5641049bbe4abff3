// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// Files with the last ticks before each stop, as haptic_core.stop_records writes them for the Python nodes. No ROS.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "haptic_hardware/flight_recorder.hpp"
#include "haptic_hardware/thread_scheduling.hpp"

namespace haptic_hardware
{

constexpr std::size_t kept_files = 16;  // of one node; a new file replaces the oldest one

/// Directory for flight records: that of the run, which the environment names, else one below a default.
inline std::filesystem::path records_directory(const std::string & fallback)
{
  const char * run = std::getenv("HAPTICS_RUN_DIRECTORY");
  return std::filesystem::path(run && *run ? run : fallback) / "flight_records";
}

/// A table as a file of NumPy (`numpy.load`): a structured array with one entry for each row.
inline std::string npy(const std::vector<FlightRow> & rows)
{
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file has the machine's order of bytes");
  constexpr std::size_t prefix = 10, alignment = 64;
  std::string header = "{'descr': [";
  for (const auto * name : flight_columns) {header += "('" + std::string(name) + "', '<i8'), ";}
  header += "], 'fortran_order': False, 'shape': (" + std::to_string(rows.size()) + ",), }";
  header.append(alignment - 1 - (prefix + header.size()) % alignment, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  if (!rows.empty()) {file.append(reinterpret_cast<const char *>(rows.data()), rows.size() * sizeof(FlightRow));}
  return file;
}

/// Writes tables of a flight recorder to files, each in a thread of its own; `save` returns at once, whatever the disk
/// does.
class StopRecords
{
public:
  /// \param node full name of the node, as "/joystick/device"
  /// \param directory directory of the files; it is made with the first file
  /// \param warn called with a line if a file cannot be written, from the thread that writes
  StopRecords(
    const std::string & node, std::filesystem::path directory, std::function<void(const std::string &)> warn)
  : directory_(std::move(directory)), warn_(std::move(warn))
  {
    const auto begin = node.find_first_not_of('/');
    name_ = begin == std::string::npos ? "" : node.substr(begin, node.find_last_not_of('/') + 1 - begin);
    std::replace(name_.begin(), name_.end(), '/', '.');
  }
  ~StopRecords() {finish();}
  StopRecords(const StopRecords &) = delete;
  StopRecords & operator=(const StopRecords &) = delete;

  /// Hands a table over to a thread.
  /// \param tick tick of the stop, for the name of the file
  /// \return path of the file; empty if the table is, or if the file before is still being written
  std::string save(std::vector<FlightRow> rows, std::int64_t tick)
  {
    if (rows.empty() || busy_.exchange(true)) {return "";}
    finish();
    const auto path = directory_ / (name_ + "-tick-" + std::to_string(tick) + ".npy");
    try {
      writer_ = std::thread(
        [this, path, rows = std::move(rows)] {
          schedule_ordinary();
          try {
            write(path, rows);
          } catch (const std::exception & error) {
            warn_(path.string() + ": not written: " + error.what());
          }
          busy_ = false;
        });
    } catch (const std::system_error & error) {
      busy_ = false;
      warn_(path.string() + ": not written: " + error.what());
      return "";
    }
    return path.string();
  }

  /// Waits for the last file.
  void finish()
  {
    if (writer_.joinable()) {writer_.join();}
  }

private:
  void write(const std::filesystem::path & path, const std::vector<FlightRow> & rows) const
  {
    namespace fs = std::filesystem;
    fs::create_directories(directory_);
    std::vector<fs::path> own;
    for (const auto & entry : fs::directory_iterator(directory_)) {
      if (is_own(entry.path().filename().string())) {own.push_back(entry.path());}
    }
    std::sort(
      own.begin(), own.end(),
      [](const auto & a, const auto & b) {return fs::last_write_time(a) < fs::last_write_time(b);});
    for (std::size_t i = 0; i + kept_files < own.size() + 1; ++i) {fs::remove(own[i]);}
    auto part = path;
    part.replace_extension(".part");
    std::ofstream target(part, std::ios::binary);
    const auto file = npy(rows);
    target.write(file.data(), static_cast<std::streamsize>(file.size()));
    target.close();
    if (target.fail()) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw std::runtime_error("the disk does not take it");
    }
    fs::rename(part, path);
  }

  /// Whether a file has the name NAME-tick-NUMBER.npy of this node.
  bool is_own(const std::string & file) const
  {
    const std::string begin = name_ + "-tick-", end = ".npy";
    if (file.size() <= begin.size() + end.size() || file.rfind(begin, 0) != 0) {return false;}
    if (file.compare(file.size() - end.size(), end.size(), end) != 0) {return false;}
    return std::all_of(
      file.begin() + static_cast<std::ptrdiff_t>(begin.size()), file.end() - static_cast<std::ptrdiff_t>(end.size()),
      [](unsigned char c) {return c >= '0' && c <= '9';});
  }

  std::string name_;
  std::filesystem::path directory_;
  std::function<void(const std::string &)> warn_;
  std::atomic<bool> busy_{false};
  std::thread writer_;
};

}  // namespace haptic_hardware
