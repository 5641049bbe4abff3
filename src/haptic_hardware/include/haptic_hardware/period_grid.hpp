// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// Which updates of a controller manager open a tick: one in each period, whatever the manager's jitter. No ROS.
#pragma once

#include <algorithm>
#include <cstdint>

namespace haptic_hardware
{

/// Compares the time since the start with the number of ticks, in integers, so that no rounding adds up.
///
/// A late update does not move the grid; the whole periods that have passed before it are skipped ticks. A manager that
/// makes up for them calls `update` several times in one period: these calls open no ticks. Any other update is a tick,
/// also if it comes early; the grid then moves to the earlier time, since the updates before it were late.
class PeriodGrid
{
public:
  struct Due
  {
    bool tick;              // the update opens a tick
    std::int64_t skipped;   // ticks before it that passed without an update
  };

  /// \param period control period [ns], above 0
  explicit PeriodGrid(std::int64_t period)
  : period_(period), left_(period) {}

  /// The next tick is due one period from now.
  void restart()
  {
    left_ = period_;
    owed_ = 0;
  }

  /// Takes an update.
  /// \param elapsed time since the update or restart before [ns]; below 0: none
  Due update(std::int64_t elapsed)
  {
    left_ -= std::max<std::int64_t>(0, elapsed);
    if (left_ > 0 && owed_ == 0) {
      left_ = period_;
      return {true, 0};
    }
    if (left_ > period_ / 2) {
      --owed_;
      return {false, 0};
    }
    const std::int64_t skipped = std::max<std::int64_t>(0, -left_ / period_);
    left_ += (1 + skipped) * period_;
    owed_ += skipped;
    return {true, skipped};
  }

private:
  std::int64_t period_;
  std::int64_t left_;       // time until the next tick is due [ns]
  std::int64_t owed_ = 0;   // skipped ticks that the manager has not made up for
};

}  // namespace haptic_hardware
