// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// Scheduling of the controller's threads. No ROS.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

namespace haptic_hardware
{

constexpr int thread_priority = 20;  // below the loop's, and that of the rendering nodes

/// Schedules a thread (0: the calling one) by SCHED_FIFO. Threads that it starts are ordinary ones.
/// \return false if the user may not
inline bool schedule_realtime(pid_t thread)
{
  sched_param parameters{};
  parameters.sched_priority = thread_priority;
  return sched_setscheduler(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
}

/// Schedules the calling thread as an ordinary one: a thread has the priority of the thread that starts it, and a
/// controller is activated by the controller manager's realtime thread.
inline void schedule_ordinary()
{
  const sched_param parameters{};
  (void)sched_setscheduler(0, SCHED_OTHER, &parameters);
}

/// Puts threads under SCHED_FIFO through which ticks and answers pass: the given ones, and those of Fast DDS.
/// Its threads that repeat messages for a reader without room keep their priority, as in
/// haptic_core.process.raise_priority. All other threads keep theirs.
/// \return false if the user may not
inline bool raise_priority(std::initializer_list<pid_t> own)
{
  bool raised = true;
  for (const auto thread : own) {raised &= schedule_realtime(thread);}
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(entry.path() / "comm") >> name;
    if (name.rfind("dds.", 0) != 0 || name.rfind("dds.asyn", 0) == 0) {continue;}
    const auto thread = static_cast<pid_t>(std::stol(entry.path().filename().string()));
    const int policy = sched_getscheduler(thread);
    if (policy >= 0 && (policy & ~SCHED_RESET_ON_FORK) == SCHED_OTHER) {raised &= schedule_realtime(thread);}
  }
  return raised;
}

}  // namespace haptic_hardware
