// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The tick loop of a device for a realtime thread: commands in, what acts in the next period out. No ROS.
//
// It decides as haptic_devices.loop.TickLoop does in realtime mode; the tests compare the two. The limits are not here:
// the safety layer is on the Python side, haptic_devices.control.hosted, behind all controllers. Nothing here allocates
// after construction, locks or throws.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace haptic_hardware
{

constexpr std::size_t max_joints = 12;
constexpr std::size_t max_sources = 8;

enum class Mode : std::uint8_t { none, effort, wrench, motion };
enum class Status : std::uint8_t { ok, safe_stop, fault };
enum class Rejection : std::uint8_t {
  none, unknown_source, late, wrong_tick, duplicate, unknown_mode, wrong_length, not_finite
};
constexpr std::array<const char *, 8> rejection_names{
  "none", "unknown source", "late", "wrong tick", "duplicate", "unknown mode", "wrong length", "not finite"};

constexpr std::uint8_t position_field = 1, velocity_field = 2, all_fields = 7;

/// A DeviceCommand in fixed memory. Quaternions are x, y, z, w; wrenches and twists [linear; angular].
struct Command
{
  std::uint64_t tick = 0;
  int source = -1;                           // place in the list of sources; -1: none of them
  Rejection unusable = Rejection::none;      // why its fields cannot be used
  Mode mode = Mode::none;
  std::uint8_t fields = 0;                   // of a motion
  std::uint8_t by_joints = 0;                // 1: joint_position replaces the pose, 2: joint_velocity the twist
  std::array<double, max_joints> joint_effort{}, joint_position{}, joint_velocity{};
  std::array<double, 6> wrench{};
  std::array<double, 19> tool{};             // pose (7), twist (6), acceleration (6)
};

template<class Numbers>
bool finite(const Numbers & numbers)
{
  return std::all_of(std::begin(numbers), std::end(numbers), [](double x) {return std::isfinite(x);});
}

/// Takes what a haptic_msgs/DeviceCommand says; `unusable` tells what is wrong with the fields that its mode uses.
template<class Message>
Command parse(const Message & message, const std::vector<std::string> & sources, std::size_t joints)
{
  Command c;
  c.tick = message.tick;
  const auto found = std::find(sources.begin(), sources.end(), message.source);
  c.source = found == sources.end() ? -1 : static_cast<int>(found - sources.begin());
  const auto take = [&](const auto & field, auto & into) {
      if (field.size() != joints) {
        c.unusable = Rejection::wrong_length;
      } else if (!finite(field)) {
        c.unusable = Rejection::not_finite;
      } else {
        std::copy(field.begin(), field.end(), into.begin());
      }
      return c.unusable == Rejection::none;
    };
  if (message.mode > static_cast<std::uint8_t>(Mode::motion)) {
    c.unusable = Rejection::unknown_mode;
    return c;
  }
  c.mode = static_cast<Mode>(message.mode);
  if (c.mode == Mode::effort) {
    take(message.joint_effort, c.joint_effort);
  } else if (c.mode == Mode::wrench) {
    const auto & f = message.tool_wrench.force;
    const auto & t = message.tool_wrench.torque;
    c.wrench = {f.x, f.y, f.z, t.x, t.y, t.z};
    c.unusable = finite(c.wrench) ? Rejection::none : Rejection::not_finite;
  } else if (c.mode == Mode::motion) {
    c.fields = message.motion_fields;
    if (c.fields == 0 || c.fields > all_fields) {
      c.unusable = Rejection::unknown_mode;
      return c;
    }
    if (!message.joint_position.empty() && take(message.joint_position, c.joint_position)) {c.by_joints |= 1;}
    const bool has_velocity = c.unusable == Rejection::none && !message.joint_velocity.empty();
    if (has_velocity && take(message.joint_velocity, c.joint_velocity)) {c.by_joints |= 2;}
    if (c.unusable != Rejection::none) {return c;}
    const auto & p = message.tool_pose.position;
    const auto & q = message.tool_pose.orientation;
    const auto & v = message.tool_twist.linear;
    const auto & w = message.tool_twist.angular;
    const auto & a = message.tool_acceleration.linear;
    const auto & b = message.tool_acceleration.angular;
    c.tool = {p.x, p.y, p.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, w.x, w.y, w.z, a.x, a.y, a.z, b.x, b.y, b.z};
    c.unusable = finite(c.tool) ? Rejection::none : Rejection::not_finite;
  }
  return c;
}

/// Why a device cannot combine the modes that its sources announce, by name; empty: it can. The texts are those of
/// haptic_core.commands.check_modes; a source without a mode fits.
inline std::string mode_conflict(const std::map<std::string, std::string> & modes, bool follows)
{
  std::string motions, force;
  std::size_t count = 0;
  for (const auto & [source, mode] : modes) {
    if (mode == "MOTION") {
      motions += (count++ ? ", " : "") + source;
    } else if ((mode == "EFFORT" || mode == "WRENCH") && force.empty()) {
      force = source;
    }
  }
  if (count > 1) {return "sources " + motions + ": at most one may command MOTION";}
  if (count && !force.empty()) {
    return "sources " + motions + " (MOTION) and " + force + " (" + modes.at(force) +
           "): motion and force cannot be combined";
  }
  if (count && !follows) {return "source " + motions + ": an impedance device takes EFFORT or WRENCH, not MOTION";}
  if (!force.empty() && follows) {
    return "source " + force + ": an admittance device takes MOTION, not " + modes.at(force);
  }
  return "";
}

/// What acts in a period: efforts and wrench of an impedance device, or the motion of an admittance device (fields 0:
/// hold).
struct Action
{
  std::array<double, max_joints> effort{};
  std::array<double, 6> wrench{};
  Command motion{};
};

class TickLoop
{
public:
  /// \param follows the device is an admittance device: it takes motions, others take efforts and wrenches
  /// \param watchdog silence of a source after which the loop goes to its safe state [ticks]
  TickLoop(std::size_t sources, std::size_t joints, bool follows, std::uint64_t watchdog)
  : sources_(sources), joints_(joints), follows_(follows), watchdog_(static_cast<std::int64_t>(watchdog))
  {
    restart();
  }

  /// Begins at a tick: no commands, status ok; silence counts from this tick.
  void restart(std::int64_t tick = 0)
  {
    last_answer_.fill(tick - 1);
    tick_ = tick;
    missed_ = 0;
    outstanding_ = sources_;
    forget();
  }

  /// Out of the safe state; silence counts from the present tick.
  void resume()
  {
    for (auto & answer : last_answer_) {answer = std::max(answer, tick_ - 1);}
    forget();
  }

  /// Takes a command. An answer that cannot be used counts as an answer that commands nothing.
  Rejection offer(const Command & command)
  {
    if (command.source < 0 || command.source >= static_cast<int>(sources_)) {return Rejection::unknown_source;}
    const auto tick = static_cast<std::int64_t>(command.tick);
    if (tick != tick_) {return tick < tick_ ? Rejection::late : Rejection::wrong_tick;}
    auto & answer = last_answer_[command.source];
    if (answer == tick_) {return Rejection::duplicate;}
    answer = tick_;
    --outstanding_;
    in_use_[command.source] = command.unusable == Rejection::none;
    if (in_use_[command.source]) {commands_[command.source] = command;}
    return command.unusable;
  }

  /// Safe state until `resume`, as if a source had been silent.
  void stop()
  {
    if (status_ == Status::ok) {status_ = Status::safe_stop;}
    stopped_ = true;
  }

  /// What acts now; opens the next tick.
  /// \param skipped ticks before this one that passed on the steady clock without a call
  const Action & advance(std::int64_t skipped = 0)
  {
    missed_ += static_cast<std::uint64_t>(skipped) + (complete() ? 0 : 1);
    for (auto & answer : last_answer_) {answer -= skipped;}
    if (status_ == Status::ok) {watch(skipped);}
    action_ = Action{};
    if (status_ == Status::ok) {combine();}
    ++tick_;
    outstanding_ = sources_;
    return action_;
  }

  bool complete() const {return outstanding_ == 0;}
  /// Sources that have not answered the present tick (bit i).
  std::uint32_t unanswered() const
  {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < sources_; ++i) {
      if (last_answer_[i] != tick_) {found |= 1u << i;}
    }
    return found;
  }
  std::int64_t tick() const {return tick_;}
  std::uint64_t missed() const {return missed_;}
  Status status() const {return status_;}
  /// What ended the ok: `stop`, a hold-up of so many ticks, sources (bit i) that were silent, or that command what
  /// cannot be combined; none of it while the status is ok.
  bool stopped() const {return stopped_;}
  std::int64_t held_up() const {return held_up_;}
  std::uint32_t silent() const {return silent_;}
  std::uint32_t conflicting() const {return conflicting_;}

private:
  void forget()
  {
    in_use_.fill(false);
    status_ = Status::ok;
    silent_ = conflicting_ = 0;
    stopped_ = false;
    held_up_ = 0;
  }

  void watch(std::int64_t skipped)
  {
    if (skipped >= watchdog_) {
      held_up_ = skipped;
      status_ = Status::safe_stop;
      return;
    }
    std::uint32_t motions = 0, forces = 0;
    for (std::size_t i = 0; i < sources_; ++i) {
      if (tick_ - last_answer_[i] >= watchdog_) {silent_ |= 1u << i;}
      if (!in_use_[i] || commands_[i].mode == Mode::none) {continue;}
      (commands_[i].mode == Mode::motion ? motions : forces) |= 1u << i;
    }
    const bool several = (motions & (motions - 1)) != 0;  // more than one bit
    if (follows_ ? forces || several : motions) {conflicting_ = several || (motions && forces) ? motions | forces :
        motions ? motions : forces;}
    if (silent_ || conflicting_) {status_ = Status::safe_stop;}
  }

  void combine()
  {
    for (std::size_t i = 0; i < sources_; ++i) {  // always in this order, whatever that of arrival
      if (!in_use_[i]) {continue;}
      const Command & c = commands_[i];
      if (c.mode == Mode::wrench) {
        for (std::size_t k = 0; k < 6; ++k) {action_.wrench[k] += c.wrench[k];}
      } else if (c.mode == Mode::effort) {
        for (std::size_t k = 0; k < joints_; ++k) {action_.effort[k] += c.joint_effort[k];}
      } else if (c.mode == Mode::motion) {
        action_.motion = c;
        // of an earlier tick only the place holds
        if (last_answer_[i] != tick_) {action_.motion.fields &= position_field;}
      }
    }
  }

  std::size_t sources_, joints_;
  bool follows_;
  std::int64_t watchdog_, tick_ = 0;
  std::uint64_t missed_ = 0;
  std::size_t outstanding_ = 0;
  std::array<std::int64_t, max_sources> last_answer_{};
  std::array<bool, max_sources> in_use_{};
  std::array<Command, max_sources> commands_{};
  Status status_ = Status::ok;
  std::uint32_t silent_ = 0, conflicting_ = 0;
  bool stopped_ = false;
  std::int64_t held_up_ = 0;
  Action action_{};
};

// ---- what the hardware interface does with the command interfaces ----

constexpr double run_idle = 0.0, run_on = 1.0, run_stop = 2.0, run_ramp = 3.0;

/// Replaces what nobody commands (NaN) in the array of haptic_devices.control.hosted, so that only numbers are left.
///
/// Layout: run, resets; then efforts (n), wrench (6), or motion_fields, by_joints, pose, twist, acceleration (19),
/// joint positions (n), joint velocities (n). Without the controller of this package the device runs: efforts that are
/// not finite are zero, and an admittance device follows joint positions or velocities where all of them are finite.
/// A motion with a number that is not finite is none.
inline void settle(double * commands, std::size_t joints, bool follows)
{
  if (!std::isfinite(commands[0])) {commands[0] = run_on;}
  if (!std::isfinite(commands[1])) {commands[1] = 0.0;}
  if (!follows) {
    for (double * x = commands + 2; x < commands + 8 + joints; ++x) {
      if (!std::isfinite(*x)) {*x = 0.0;}
    }
    return;
  }
  const auto all_finite = [&](std::size_t begin, std::size_t count) {
      return std::all_of(commands + begin, commands + begin + count, [](double x) {return std::isfinite(x);});
    };
  const std::size_t tool = 4, positions = 23, velocities = 23 + joints;
  double & fields = commands[2];
  double & by_joints = commands[3];
  if (std::isnan(fields)) {
    const bool position = all_finite(positions, joints), velocity = all_finite(velocities, joints);
    by_joints = fields = (position ? position_field : 0) + (velocity ? velocity_field : 0);
  } else {
    const bool numbers = std::isfinite(by_joints) && by_joints >= 0.0 && by_joints <= 3.0 && fields >= 0.0 &&
      fields <= all_fields && all_finite(tool, 19) &&
      (!(static_cast<int>(by_joints) & 1) || all_finite(positions, joints)) &&
      (!(static_cast<int>(by_joints) & 2) || all_finite(velocities, joints));
    if (!numbers) {fields = by_joints = 0.0;}
  }
}

/// A wrench in the axes of a frame with the unit quaternion q (x, y, z, w).
inline std::array<double, 6> turned_back(const double * q, const double * wrench)
{
  std::array<double, 6> turned{};
  const auto cross = [](const double * a, const double * b) {
      return std::array<double, 3>{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    };
  for (int part = 0; part < 6; part += 3) {
    const double * x = wrench + part;
    auto inner = cross(q, x);
    for (int i = 0; i < 3; ++i) {inner[i] -= q[3] * x[i];}
    const auto outer = cross(q, inner.data());
    for (int i = 0; i < 3; ++i) {turned[part + i] = x[i] + 2.0 * outer[i];}
  }
  return turned;
}

/// The durations of the last cycles, for percentiles when the loop is over.
class Times
{
public:
  void add(double seconds) {values_[count_++ % values_.size()] = seconds;}
  void clear() {count_ = 0;}
  std::size_t count() const {return std::min(count_, values_.size());}

  /// \param percent 0 to 100
  double percentile(double percent) const
  {
    std::vector<double> sorted(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(count()));
    if (sorted.empty()) {return std::numeric_limits<double>::quiet_NaN();}
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(percent / 100.0 * static_cast<double>(sorted.size() - 1) + 0.5)];
  }

private:
  std::vector<double> values_ = std::vector<double>(65536);
  std::size_t count_ = 0;
};

}  // namespace haptic_hardware
