// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// C functions around tick_loop.hpp for the tests, which call them through ctypes.

#include "haptic_hardware/tick_loop.hpp"

using haptic_hardware::Action;
using haptic_hardware::TickLoop;
using haptic_hardware::Times;
using haptic_hardware::mode_conflict;
using haptic_hardware::parse;
using haptic_hardware::settle;
using haptic_hardware::turned_back;

namespace
{

struct Vector {double x, y, z;};
struct Quaternion {double x, y, z, w;};
struct Pose {Vector position; Quaternion orientation;};
struct Twist {Vector linear, angular;};
struct Wrench {Vector force, torque;};

struct Message  // the fields of a haptic_msgs/DeviceCommand
{
  std::uint64_t tick;
  std::string source;
  std::uint8_t mode, motion_fields;
  std::vector<double> joint_effort, joint_position, joint_velocity;
  Wrench tool_wrench;
  Pose tool_pose;
  Twist tool_twist, tool_acceleration;
};

}  // namespace

struct Loop
{
  TickLoop loop;
  std::vector<std::string> sources;
  std::size_t joints;
};

extern "C" {

/// Why the modes do not fit, in a buffer of 200 bytes.
void mode_conflict_of(int sources, const char ** names, const char ** modes, int follows, char * text)
{
  std::map<std::string, std::string> given;
  for (int i = 0; i < sources; ++i) {given[names[i]] = modes[i];}
  text[mode_conflict(given, follows != 0).copy(text, 199)] = 0;
}

Loop * make(int sources, int joints, int follows, std::int64_t watchdog)
{
  std::vector<std::string> names;
  for (int i = 0; i < sources; ++i) {names.push_back(std::string(1, static_cast<char>('a' + i)));}
  return new Loop{TickLoop(names.size(), joints, follows, watchdog), names, static_cast<std::size_t>(joints)};
}

void destroy(Loop * loop) {delete loop;}

// numbers: wrench (6), pose, twist, acceleration (19); arrays with their lengths
int offer(
  Loop * loop, std::int64_t tick, const char * source, int mode, int fields, const double * numbers,
  const double * effort, int effort_length, const double * position, int position_length, const double * velocity,
  int velocity_length)
{
  const double * x = numbers + 6;
  const auto vector = [](const double * v) {return Vector{v[0], v[1], v[2]};};
  Message message{
    static_cast<std::uint64_t>(tick), source, static_cast<std::uint8_t>(mode), static_cast<std::uint8_t>(fields),
    {effort, effort + effort_length}, {position, position + position_length}, {velocity, velocity + velocity_length},
    {vector(numbers), vector(numbers + 3)}, {vector(x), {x[3], x[4], x[5], x[6]}}, {vector(x + 7), vector(x + 10)},
    {vector(x + 13), vector(x + 16)}};
  return static_cast<int>(loop->loop.offer(parse(message, loop->sources, loop->joints)));
}

// out: efforts (joints), wrench (6), fields, by_joints, tool (19), positions (joints), velocities (joints)
void advance(Loop * loop, std::int64_t skipped, double * out)
{
  const Action & action = loop->loop.advance(skipped);
  out = std::copy_n(action.effort.begin(), loop->joints, out);
  out = std::copy(action.wrench.begin(), action.wrench.end(), out);
  *out++ = action.motion.fields;
  *out++ = action.motion.by_joints;
  out = std::copy(action.motion.tool.begin(), action.motion.tool.end(), out);
  out = std::copy_n(action.motion.joint_position.begin(), loop->joints, out);
  std::copy_n(action.motion.joint_velocity.begin(), loop->joints, out);
}

void restart(Loop * loop) {loop->loop.restart();}
void resume(Loop * loop) {loop->loop.resume();}
void stop(Loop * loop) {loop->loop.stop();}

// out: tick, complete, missed, status, silent, conflicting, stopped, held up
void look(const Loop * loop, std::int64_t * out)
{
  out[0] = static_cast<std::int64_t>(loop->loop.tick());
  out[1] = loop->loop.complete();
  out[2] = static_cast<std::int64_t>(loop->loop.missed());
  out[3] = static_cast<std::int64_t>(loop->loop.status());
  out[4] = loop->loop.silent();
  out[5] = loop->loop.conflicting();
  out[6] = loop->loop.stopped();
  out[7] = static_cast<std::int64_t>(loop->loop.held_up());
}

void settle_commands(double * commands, int joints, int follows) {settle(commands, joints, follows);}

void turn_back(const double * quaternion, const double * wrench, double * out)
{
  const auto turned = turned_back(quaternion, wrench);
  std::copy(turned.begin(), turned.end(), out);
}

double percentile(const double * values, int count, double percent)
{
  Times times;
  for (int i = 0; i < count; ++i) {times.add(values[i]);}
  return times.percentile(percent);
}

}
