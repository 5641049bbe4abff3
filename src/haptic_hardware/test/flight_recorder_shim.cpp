// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// C functions around flight_recorder.hpp, stop_records.hpp, period_grid.hpp and thread_scheduling.hpp for the tests,
// which call them through ctypes. Clocks and counters are those that a test sets.

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <future>
#include <initializer_list>
#include <thread>
#include <vector>

#include "haptic_hardware/flight_recorder.hpp"
#include "haptic_hardware/period_grid.hpp"
#include "haptic_hardware/stop_records.hpp"
#include "haptic_hardware/thread_scheduling.hpp"

using haptic_hardware::FlightPhase;
using haptic_hardware::FlightRecorder;
using haptic_hardware::FlightRow;
using haptic_hardware::PeriodGrid;
using haptic_hardware::StopRecords;
using haptic_hardware::ThreadUsage;

namespace
{

struct SetProbe  // values that a test sets
{
  void open() {++opened;}
  std::int64_t now() const {return time;}
  ThreadUsage usage() const {return used;}
  std::int64_t on_core()
  {
    ++slow_reads;
    return on_core_now;
  }
  std::int64_t runnable() const {return waited;}

  std::int64_t time = 0, on_core_now = 0, waited = 0, slow_reads = 0, opened = 0;
  ThreadUsage used{};
};

using Recorder = FlightRecorder<SetProbe>;

int copy_text(const std::string & text, char * out, std::size_t size)
{
  out[text.copy(out, size - 1)] = 0;
  return static_cast<int>(text.size());
}

int copy_rows(const std::vector<FlightRow> & rows, std::int64_t * out)
{
  for (const auto & row : rows) {out = std::copy(row.begin(), row.end(), out);}
  return static_cast<int>(rows.size());
}

int policy_of(pid_t thread) {return sched_getscheduler(thread);}

/// The policy that a thread has when it begins.
int policy_of_new_thread()
{
  int policy = -1;
  std::thread([&policy] {policy = policy_of(0);}).join();
  return policy;
}

}  // namespace

extern "C" {

PeriodGrid * grid_make(std::int64_t period) {return new PeriodGrid(period);}
void grid_destroy(PeriodGrid * grid) {delete grid;}
void grid_restart(PeriodGrid * grid) {grid->restart();}

/// \return the skipped ticks, or -1 if the update opens no tick
std::int64_t grid_update(PeriodGrid * grid, std::int64_t elapsed)
{
  const auto due = grid->update(elapsed);
  return due.tick ? due.skipped : -1;
}

Recorder * recorder_make(std::int64_t period, std::int64_t size)
{
  return new Recorder(period, static_cast<std::size_t>(size));
}

void recorder_destroy(Recorder * recorder) {delete recorder;}
void recorder_start(Recorder * recorder) {recorder->start();}
void recorder_stop(Recorder * recorder) {recorder->stop();}
void recorder_mark(Recorder * recorder, int phase) {recorder->mark(static_cast<FlightPhase>(phase));}
void recorder_end(Recorder * recorder, std::int64_t tick) {recorder->end(tick);}

/// values: time, time on a core as the fast and as the slow counter have it, time without one, minor and major faults,
/// voluntary and involuntary switches
void recorder_set(Recorder * recorder, const std::int64_t * values)
{
  auto & probe = recorder->probe();
  probe.time = values[0];
  probe.on_core_now = values[2];
  probe.waited = values[3];
  probe.used = {values[1], values[4], values[5], values[6], values[7]};
}

std::int64_t recorder_slow_reads(Recorder * recorder) {return recorder->probe().slow_reads;}

int recorder_rows(const Recorder * recorder, std::int64_t * out) {return copy_rows(recorder->rows(), out);}

int recorder_describe(const Recorder * recorder, int last, char * text, int size)
{
  const auto line = haptic_hardware::describe_longest(recorder->rows(), static_cast<std::size_t>(last));
  return copy_text(line, text, static_cast<std::size_t>(size));
}

/// Saves the rows and waits for the file; returns the length of the path. `warning` is empty if nothing went wrong.
int records_save(
  const Recorder * recorder, const char * node, const char * directory, std::int64_t tick, char * path, char * warning,
  int size)
{
  const auto length = static_cast<std::size_t>(size);
  warning[0] = 0;
  StopRecords records(node, directory, [&](const std::string & text) {copy_text(text, warning, length);});
  const int written = copy_text(records.save(recorder->rows(), tick), path, length);
  records.finish();
  return written;
}

void directory_of_records(const char * fallback, char * text, int size)
{
  copy_text(haptic_hardware::records_directory(fallback).string(), text, static_cast<std::size_t>(size));
}

/// Records ticks whose entries all follow from their number, while another thread copies the rows so many times.
/// \return rows that are torn or not in their order
std::int64_t rows_under_way(int copies)
{
  Recorder recorder(1'000'000, 64);
  std::atomic<bool> over{false};
  std::int64_t wrong = 0;
  recorder.start();
  std::thread reader([&] {
      for (int copy = 0; copy < copies; ++copy) {
        const auto rows = recorder.rows();
        for (std::size_t i = 0; i < rows.size(); ++i) {
          wrong += rows[i][1] != rows[i][0] || rows[i][8] != rows[i][0] || (i && rows[i][0] != rows[i - 1][0] + 1);
        }
      }
      over = true;
    });
  for (std::int64_t tick = 0; !over; ++tick) {
    recorder.probe().time += tick;
    recorder.probe().used.minor_faults += tick;
    recorder.mark(FlightPhase::publishing);
    recorder.end(tick);
  }
  reader.join();
  return wrong;
}

/// Two ticks of this thread with its own clocks and counters; in the second one it maps a page and sleeps.
int record_this_thread(std::int64_t * out)
{
  FlightRecorder<> recorder(1'000'000);
  recorder.start();
  recorder.mark(FlightPhase::answers);
  recorder.end(0);
  constexpr std::size_t size = 1 << 16;
  auto * page = static_cast<volatile char *>(
    mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  page[0] = 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  recorder.mark(FlightPhase::manager);
  recorder.end(1);
  munmap(const_cast<char *>(page), size);
  return copy_rows(recorder.rows(), out);
}

/// Mean time of a tick's record with the clocks and counters of the kernel [ns].
double cost_of_recording(int ticks)
{
  FlightRecorder<> recorder(1'000'000'000);
  recorder.start();
  const auto start = std::chrono::steady_clock::now();
  for (int tick = 0; tick < ticks; ++tick) {
    for (std::size_t phase = 0; phase < haptic_hardware::phase_count; ++phase) {
      recorder.mark(static_cast<FlightPhase>(phase));
    }
    recorder.end(tick);
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / ticks;
}

/// Policies of threads around `raise_priority`, to be called in a process of its own. out: whether the user may, then
/// the policies of the raised thread, of a thread that it starts, and of threads named dds.udp, dds.asyn and spin; at
/// last that of a thread that a FIFO thread starts, before and after `schedule_ordinary`.
void raise_and_look(int * out)
{
  std::promise<void> end;
  const auto ended = end.get_future().share();
  std::vector<std::thread> threads;
  std::vector<pid_t> ids;
  for (const char * name : {"dds.udp", "dds.asyn", "spin"}) {
    std::promise<pid_t> id;
    auto known = id.get_future();
    threads.emplace_back([&id, name, ended] {
        pthread_setname_np(pthread_self(), name);
        id.set_value(gettid());
        ended.wait();
      });
    ids.push_back(known.get());
  }
  std::thread([&] {
      out[0] = haptic_hardware::raise_priority({gettid()});
      out[1] = policy_of(0);
      out[2] = policy_of_new_thread();
      for (std::size_t i = 0; i < ids.size(); ++i) {out[3 + i] = policy_of(ids[i]);}
    }).join();
  end.set_value();
  for (auto & thread : threads) {thread.join();}
  std::thread([&] {
      sched_param parameters{};
      parameters.sched_priority = 1;
      (void)sched_setscheduler(0, SCHED_FIFO, &parameters);
      std::thread([&] {
        out[6] = policy_of(0);
        haptic_hardware::schedule_ordinary();
        out[7] = policy_of(0);
      }).join();
    }).join();
}

}
