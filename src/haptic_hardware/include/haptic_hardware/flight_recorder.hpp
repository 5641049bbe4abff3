// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// Record of the last ticks of the controller, with counters of the kernel that show why one was late. No ROS.
//
// Its rows are the entries of haptic_core.flight_recorder.FlightRecorder.table, and a late tick is described in the
// same words. The tests compare the two.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace haptic_hardware
{

/// Phases of a tick, in their order.
enum class FlightPhase : std::size_t
{
  publishing,  // the tick before was handed to the publishing thread
  manager,     // outside `update`: the manager slept, the hardware was read and written, other controllers ran
  answers,     // commands were taken from their queue
  write,       // commands were combined and written to the interfaces
  read         // the interfaces were read
};
constexpr std::size_t phase_count = 5;
/// Entries of a row: the tick, the phases [ns], then the counters of haptic_core.flight_recorder.TickRecord.
constexpr std::array<const char *, phase_count + 9> flight_columns{
  "tick", "publishing", "manager", "answers", "write", "read", "on_core", "runnable", "minor_faults", "major_faults",
  "voluntary", "involuntary", "collections", "collecting"};
using FlightRow = std::array<std::int64_t, flight_columns.size()>;

/// Counters of a thread since its start: times [ns] and numbers.
struct ThreadUsage
{
  std::int64_t on_core = 0, minor_faults = 0, major_faults = 0, voluntary = 0, involuntary = 0;
};

/// Clocks and counters of the calling thread. Each takes at most a few microseconds, `usage` below one.
class ThreadProbe
{
public:
  ThreadProbe() = default;
  ~ThreadProbe() {close();}
  ThreadProbe(const ThreadProbe &) = delete;
  ThreadProbe & operator=(const ThreadProbe &) = delete;

  /// Chooses the calling thread.
  void open()
  {
    close();
    schedule_ = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);  // below 0: a kernel without it
  }

  /// Time of the steady clock [ns].
  std::int64_t now() const {return read_clock(CLOCK_MONOTONIC);}

  /// All counters; the time on a core lacks what has passed since the kernel last looked.
  ThreadUsage usage() const
  {
    rusage used;
    getrusage(RUSAGE_THREAD, &used);
    const auto time = [](const timeval & t) {return t.tv_sec * 1'000'000'000 + t.tv_usec * 1000;};
    return {time(used.ru_utime) + time(used.ru_stime), used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw};
  }

  /// Time on a core [ns].
  std::int64_t on_core() const {return read_clock(CLOCK_THREAD_CPUTIME_ID);}

  /// Time for which the thread could run and had no core [ns].
  std::int64_t runnable() const
  {
    char text[64]{};
    if (schedule_ < 0 || pread(schedule_, text, sizeof(text) - 1, 0) <= 0) {return 0;}
    char * end = text;
    std::strtoll(text, &end, 10);
    return std::strtoll(end, nullptr, 10);
  }

private:
  static std::int64_t read_clock(clockid_t clock)
  {
    timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
  }

  void close()
  {
    if (schedule_ >= 0) {::close(schedule_);}
    schedule_ = -1;
  }

  int schedule_ = -1;
};

/// Ring buffer of the last ticks. One thread records, without allocations, locks or waits; any other thread may copy
/// the rows meanwhile. Outside `start` and `stop` nothing is recorded.
///
/// The two counters that take longest are read in late ticks only, which is where they say something. `runnable` of a
/// late tick may contain what the thread waited in up to `refresh_ticks` ticks before it, and is 0 in all others.
template<class Probe = ThreadProbe>
class FlightRecorder
{
public:
  static constexpr std::size_t refresh_ticks = 64;

  /// \param period control period [ns]: ticks that take more than 1.5 of it are late
  /// \param size number of ticks that are kept, above 0
  explicit FlightRecorder(std::int64_t period, std::size_t size = 2048)
  : late_(period + period / 2), size_(size), cells_((size + 1) * flight_columns.size()) {}

  /// Records the calling thread from now on; a table has no ticks of before.
  void start()
  {
    probe_.open();
    count_.store(0);
    phases_.fill(0);
    usage_ = probe_.usage();
    runnable_ = probe_.runnable();
    last_ = probe_.now();
    on_ = true;
  }

  /// Stops recording; the rows stay.
  void stop() {on_ = false;}

  /// Ends a phase.
  void mark(FlightPhase phase)
  {
    if (!on_) {return;}
    const auto now = probe_.now();
    phases_[static_cast<std::size_t>(phase)] += now - last_;
    last_ = now;
  }

  /// Ends a tick: stores its number, the phases since the last end, and the counters.
  void end(std::int64_t tick)
  {
    if (!on_) {return;}
    const auto count = count_.load(std::memory_order_relaxed);
    auto usage = probe_.usage();
    usage.on_core = std::max(usage.on_core, usage_.on_core);
    std::int64_t duration = 0, runnable = 0;
    for (const auto phase : phases_) {duration += phase;}
    if (const bool late = duration > late_; late || count % refresh_ticks == 0) {
      usage.on_core = std::max(usage.on_core, probe_.on_core());
      const auto waited = probe_.runnable();
      if (late) {
        runnable = std::clamp<std::int64_t>(waited - runnable_, 0, std::max<std::int64_t>(
            0, duration - (usage.on_core - usage_.on_core)));
      }
      runnable_ = waited;
    }
    std::atomic_thread_fence(std::memory_order_release);  // a reader that sees a cell of this row sees the count
    auto * cell = &cells_[count % (size_ + 1) * flight_columns.size()];
    const auto put = [&cell](std::int64_t value) {(cell++)->store(value, std::memory_order_relaxed);};
    put(tick);
    for (const auto phase : phases_) {put(phase);}
    put(usage.on_core - usage_.on_core);
    put(runnable);
    put(usage.minor_faults - usage_.minor_faults);
    put(usage.major_faults - usage_.major_faults);
    put(usage.voluntary - usage_.voluntary);
    put(usage.involuntary - usage_.involuntary);
    put(0);  // no garbage collector
    put(0);
    count_.store(count + 1, std::memory_order_release);
    usage_ = usage;
    phases_.fill(0);
  }

  /// Copies the recorded ticks in their order; those that are overwritten meanwhile are left out.
  std::vector<FlightRow> rows() const
  {
    const auto end = count_.load(std::memory_order_acquire);
    const auto begin = end - std::min(end, size_);
    std::vector<FlightRow> copied(end - begin);
    for (auto i = begin; i < end; ++i) {
      const auto * cell = &cells_[i % (size_ + 1) * flight_columns.size()];
      for (auto & value : copied[i - begin]) {value = (cell++)->load(std::memory_order_relaxed);}
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    const auto now = count_.load(std::memory_order_relaxed);
    if (now > begin + size_) {  // row `now` is perhaps being written: it takes the place of row `now` - size - 1
      const auto stale = std::min(now - size_ - begin, copied.size());
      copied.erase(copied.begin(), copied.begin() + static_cast<std::ptrdiff_t>(stale));
    }
    return copied;
  }

  Probe & probe() {return probe_;}

private:
  Probe probe_;
  std::int64_t late_;
  std::size_t size_;
  std::vector<std::atomic<std::int64_t>> cells_;  // one row more than are kept, which is being written
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> on_{false};
  std::array<std::int64_t, phase_count> phases_{};
  ThreadUsage usage_{};
  std::int64_t runnable_ = 0, last_ = 0;
};

/// Says which of the last ticks took longest and what it went into, as haptic_core.flight_recorder.TickRecord does.
/// \param rows recorded ticks
/// \param last number of ticks to compare
/// \return the line; empty if there are no rows
inline std::string describe_longest(const std::vector<FlightRow> & rows, std::size_t last = 64)
{
  if (rows.empty()) {return "";}
  const auto duration = [](const FlightRow & row) {
      std::int64_t sum = 0;
      for (std::size_t i = 1; i <= phase_count; ++i) {sum += row[i];}
      return sum;
    };
  const auto recent = rows.end() - static_cast<std::ptrdiff_t>(std::min(last, rows.size()));
  const FlightRow & row = *std::max_element(
    recent, rows.end(), [&](const auto & a, const auto & b) {return duration(a) < duration(b);});
  std::size_t longest = 1;
  std::array<double, phase_count + 1> usual{};
  std::vector<std::int64_t> sorted(rows.size());
  for (std::size_t i = 1; i <= phase_count; ++i) {
    std::transform(rows.begin(), rows.end(), sorted.begin(), [i](const auto & each) {return each[i];});
    std::sort(sorted.begin(), sorted.end());
    const auto middle = sorted.size() / 2;
    usual[i] = sorted.size() % 2 ? static_cast<double>(sorted[middle]) :
      0.5 * static_cast<double>(sorted[middle - 1] + sorted[middle]);
    const auto excess = [&](std::size_t k) {return static_cast<double>(row[k]) - usual[k];};
    if (excess(i) > excess(longest)) {longest = i;}
  }
  const auto value = [&row](std::size_t counter) {return row[1 + phase_count + counter];};
  const double half = 0.5 * static_cast<double>(duration(row)), phase = static_cast<double>(row[longest]);
  std::string cause = "it slept or was stopped";
  if (static_cast<double>(value(1)) > half) {
    cause = "it waited for a core that others had";
  } else if (static_cast<double>(value(0)) > half) {
    cause = phase > 10.0 * usual[longest] ? "it computed, on a slow core or for the first time" : "it computed";
  } else if (value(3)) {
    cause = "it waited for pages from a disk";
  }
  const auto ms = [](double nanoseconds) {
      std::array<char, 64> text{};
      std::snprintf(text.data(), text.size(), "%.2f", 1e-6 * nanoseconds);
      return std::string(text.data());
    };
  const auto number = [&](std::size_t counter) {return std::to_string(value(counter));};
  return "tick " + std::to_string(row[0]) + " took " + ms(static_cast<double>(duration(row))) + " ms, " +
         flight_columns[longest] + " " + ms(phase) + " ms of it (usually " + ms(usual[longest]) + "): " + cause + "; " +
         ms(static_cast<double>(value(0))) + " ms on a core, " + ms(static_cast<double>(value(1))) +
         " ms without one, " + number(4) + " + " + number(5) + " switches, " + number(2) + " + " + number(3) +
         " page faults, " + number(6) + " collections of " + ms(static_cast<double>(value(7))) + " ms";
}

}  // namespace haptic_hardware
