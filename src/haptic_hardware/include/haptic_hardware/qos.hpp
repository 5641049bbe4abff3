// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// Depths of the QoS profiles, as haptic_core/qos.py has them; a test compares the two.
#pragma once

#include <cstddef>

namespace haptic_hardware
{

constexpr std::size_t depth = 10;            // of readers of tick topics, and of displays
constexpr std::size_t kept_ticks = 5000;     // of the publishers of ticks, for a recorder that is held up
constexpr std::size_t event_depth = 1000;    // of events, latched

}  // namespace haptic_hardware
