// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The controller's publishing thread: the start of the loop, states, displays, events and diagnostics.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <set>

#include "haptic_hardware/device_controller.hpp"
#include "haptic_hardware/thread_scheduling.hpp"

namespace haptic_hardware
{
namespace
{

template<class Vector>
void set_vector(Vector & vector, const double * x)
{
  vector.x = x[0];
  vector.y = x[1];
  vector.z = x[2];
}

void set_pose(geometry_msgs::msg::Pose & pose, const double * x)
{
  set_vector(pose.position, x);
  set_vector(pose.orientation, x + 3);
  pose.orientation.w = x[6];
}

void set_twist(geometry_msgs::msg::Twist & twist, const double * x)
{
  set_vector(twist.linear, x);
  set_vector(twist.angular, x + 3);
}

void set_wrench(geometry_msgs::msg::Wrench & wrench, const double * x)
{
  set_vector(wrench.force, x);
  set_vector(wrench.torque, x + 3);
}

}  // namespace

void DeviceController::start_threads()
{
  stopping_ = false;
  executor_ = std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
  executor_->add_callback_group(group_, get_node()->get_node_base_interface());
  callbacks_end_ = std::promise<void>();
  std::promise<pid_t> id;
  callback_thread_id_ = id.get_future();
  callback_thread_ = std::thread(
    [this, end = callbacks_end_.get_future().share(), id = std::move(id)]() mutable {
      schedule_ordinary();
      id.set_value(gettid());
      executor_->spin_until_future_complete(end);
    });
  publishing_thread_ = std::thread(
    [this] {
      schedule_ordinary();
      publish_samples();
    });
}

void DeviceController::stop_threads()
{
  if (!publishing_thread_.joinable()) {return;}
  stopping_ = true;
  sem_post(&wake_);
  publishing_thread_.join();
  callbacks_end_.set_value();  // remembered, also if the thread does not spin yet: then a cancel alone is lost
  executor_->cancel();
  callback_thread_.join();
  executor_.reset();
  ready_ = false;
}

void DeviceController::publish_samples()
{
  const auto start = std::chrono::steady_clock::now();
  auto diagnosed = start;
  const pid_t callback_thread = callback_thread_id_.get();
  auto sample = std::make_unique<Sample>();
  while (!stopping_) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 20'000'000;
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
    sem_clockwait(&wake_, CLOCK_MONOTONIC, &until);
    if (!ready_ && !ended_) {wait_for_sources(start, callback_thread);}
    publish_waiting(*sample);
    const auto now = std::chrono::steady_clock::now();
    if (now - diagnosed >= std::chrono::seconds(1)) {
      diagnose(std::chrono::duration<double>(now - diagnosed).count());
      diagnosed = now;
    }
  }
  publish_waiting(*sample);
}

void DeviceController::publish_waiting(Sample & sample)
{
  while (samples_->pop(sample)) {
    if (sample.unanswered) {
      std::array<char, 32> seconds{};
      std::snprintf(seconds.data(), seconds.size(), "%g", answer_timeout_);
      fail(
        "source " + names_of(sample.unanswered) + ": no answer to tick " + std::to_string(sample.tick) + " within " +
        seconds.data() + " s");
    } else if (sample.over) {
      over_ = true;
      finish(true);
    } else {
      publish(sample);
    }
  }
}

void DeviceController::wait_for_sources(std::chrono::steady_clock::time_point start, pid_t callback_thread)
{
  std::string missing, conflict;
  {
    const std::lock_guard<std::mutex> guard(states_mutex_);
    for (const auto & source : sources_) {
      if (!active_sources_.count(source)) {missing += (missing.empty() ? "source " : ", source ") + source;}
    }
    conflict = mode_conflict(active_sources_, follows_);
  }
  if (missing.empty() && !conflict.empty()) {
    fail(conflict);
    return;
  }
  if (missing.empty()) {
    auto receivers = sources_;
    if (recorded_) {receivers.push_back("recorder");}
    missing = unmatched(*states_, receivers);
    if (missing.empty() && recorded_ && truths_) {missing = unmatched(*truths_, {"recorder"});}
  }
  if (missing.empty() && get_node()->count_publishers(states_->get_topic_name()) > 1) {
    fail(std::string("another device already publishes ") + states_->get_topic_name() +
      " in this ROS domain; end it or set another ROS_DOMAIN_ID");
    return;
  }
  if (missing.empty()) {
    if (!raise_priority({gettid(), callback_thread})) {
      RCLCPP_WARN(get_node()->get_logger(), "no realtime priority (ulimit -r): other programs can delay ticks");
    }
    ready_ = true;
  } else if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > activation_timeout_) {
    fail("waited for all sources; still missing: " + missing);
  }
}

std::string DeviceController::unmatched(const rclcpp::PublisherBase & publisher, const std::vector<std::string> & names)
{
  std::set<std::string> here;
  for (const auto & info : get_node()->get_subscriptions_info_by_topic(publisher.get_topic_name())) {
    here.insert(info.node_name());
  }
  std::string missing;
  for (const auto & name : names) {
    if (!here.count(name)) {missing += (missing.empty() ? "" : ", ") + name;}
  }
  return missing.empty() && publisher.get_subscription_count() < names.size() ? "a subscriber" : missing;
}

std::string DeviceController::names_of(std::uint32_t sources) const
{
  std::string text;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources & (1u << i)) {text += (text.empty() ? "" : ", ") + sources_[i];}
  }
  return text;
}

void DeviceController::fail(const std::string & reason)
{
  ended_ = true;
  RCLCPP_FATAL(get_node()->get_logger(), "%s", reason.c_str());
  publish_event(TickEvent::KIND_STATE, {{"reason", reason}, {"state", "failed"}});
}

void DeviceController::publish(const Sample & sample)
{
  const std::size_t n = joints_.size();
  const double * x = sample.values.data();
  state_.header.stamp.sec = static_cast<std::int32_t>(sample.stamp / 1'000'000'000);
  state_.header.stamp.nanosec = static_cast<std::uint32_t>(sample.stamp % 1'000'000'000);
  state_.tick = static_cast<std::uint64_t>(sample.tick);
  std::copy_n(x, n, state_.joint_position.begin());
  std::copy_n(x + n, n, state_.joint_velocity.begin());
  std::copy_n(x + 2 * n, n, state_.joint_effort.begin());
  const double * tool = x + 3 * n;
  set_pose(state_.tool_pose, tool);
  set_twist(state_.tool_twist, tool + 7);
  set_wrench(state_.tool_wrench, tool + 13);
  const double * end = x + state_names_.size();
  state_.buttons = static_cast<std::uint32_t>(end[-3]);
  state_.status = sample.status;
  state_.limited = sample.limited;
  missed_ = sample.missed;
  published_tick_ = sample.tick;
  states_->publish(state_);
  const double * rest = tool + 19;
  if (truths_) {
    publish_truth(rest);
    rest += 3 * n + 26;
  }
  if (!sample.status) {
    told_ = false;
  } else if (!told_) {
    tell_stop(sample);
  }
  count_limits(sample);
  const auto every = std::max<std::int64_t>(1, std::llround(1.0 / (display_rate_ * period_)));
  if (sample.tick % every == 0) {publish_display(sample, tool, rest);}
}

void DeviceController::publish_truth(const double * x)
{
  const std::size_t n = joints_.size();
  truth_.header.stamp = state_.header.stamp;
  truth_.tick = state_.tick;
  std::copy_n(x, n, truth_.joint_position.begin());
  std::copy_n(x + n, n, truth_.joint_velocity.begin());
  std::copy_n(x + 2 * n, n, truth_.applied_effort.begin());
  x += 3 * n;
  set_pose(truth_.tool_pose, x);
  set_twist(truth_.tool_twist, x + 7);
  set_wrench(truth_.operator_wrench, x + 13);
  set_pose(truth_.operator_target, x + 19);
  truths_->publish(truth_);
}

void DeviceController::publish_display(const Sample & sample, const double * tool, const double * passive)
{
  const std::size_t n = joints_.size(), m = passive_.size();
  if (joint_states_->get_subscription_count()) {
    const double * x = sample.values.data();
    joint_state_.header.stamp = state_.header.stamp;
    std::copy_n(x, n, joint_state_.position.begin());
    std::copy_n(x + n, n, joint_state_.velocity.begin());
    std::copy_n(x + 2 * n, n, joint_state_.effort.begin());
    std::copy_n(passive, m, joint_state_.position.begin() + static_cast<std::ptrdiff_t>(n));
    std::copy_n(passive + m, m, joint_state_.velocity.begin() + static_cast<std::ptrdiff_t>(n));
    joint_states_->publish(joint_state_);
  }
  publish_wrench(wrenches_, tool + 3, sample.rendered.data());
  publish_wrench(measured_, tool + 3, tool + 13);
}

void DeviceController::publish_wrench(
  const rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr & publisher, const double * orientation,
  const double * wrench)
{
  if (!publisher || !publisher->get_subscription_count()) {return;}
  wrench_.header.stamp = state_.header.stamp;
  set_wrench(wrench_.wrench, tool_frame_.empty() ? wrench : turned_back(orientation, wrench).data());
  publisher->publish(wrench_);
}

void DeviceController::count_limits(const Sample & sample)
{
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < limit_names.size(); ++i) {total += limited_[i] += (sample.limited >> i) & 1;}
  if (total == limits_told_ || (limits_told_ && sample.tick - limits_tick_ < 1000)) {return;}
  limits_told_ = total;
  limits_tick_ = sample.tick;
  publish_event(TickEvent::KIND_LIMIT, limits());
  std::string text;
  for (const auto & [path, count] : limits()) {text += (text.empty() ? "" : ", ") + path + " " + count;}
  RCLCPP_WARN(
    get_node()->get_logger(), "limited at tick %" PRId64 ": ticks so far: %s", sample.tick, text.c_str());
}

Detail DeviceController::limits() const
{
  Detail found;
  for (std::size_t i = 0; i < limit_names.size(); ++i) {
    if (limited_[i]) {found.emplace_back(std::string("limited/") + limit_names[i], std::to_string(limited_[i]));}
  }
  return found;
}

void DeviceController::tell_stop(const Sample & sample)
{
  told_ = true;
  auto & reason = stop_reason_ = "the hardware stopped: its log says why";
  if (const char * emergency = emergency_) {
    reason = emergency;
  } else if (sample.held_up) {
    reason = "the device was held up for " + std::to_string(sample.held_up) + " ticks";
  } else if (sample.silent) {
    reason = "source " + names_of(sample.silent) + ": silent for " + std::to_string(watchdog_) + " ticks";
  } else if (sample.conflicting) {
    reason = "source " + names_of(sample.conflicting) + ": " +
      (follows_ ? "an admittance device takes one MOTION and nothing beside it" :
      "an impedance device takes EFFORT or WRENCH, not MOTION");
  }
  RCLCPP_ERROR(
    get_node()->get_logger(), "safe state at tick %" PRId64 ": %s", published_tick_.load(), reason.c_str());
  Detail detail{{"reason", reason}, {"status", std::to_string(sample.status)}};
  auto rows = flight_->rows();
  if (!rows.empty()) {
    detail.emplace_back("longest_tick", describe_longest(rows));
    RCLCPP_ERROR(get_node()->get_logger(), "longest of the last ticks: %s", detail.back().second.c_str());
  }
  if (const auto file = stop_records_->save(std::move(rows), sample.tick); !file.empty()) {
    detail.emplace_back("flight_record", file);
    RCLCPP_ERROR(get_node()->get_logger(), "flight record: %s", file.c_str());
  }
  publish_event(TickEvent::KIND_ERROR, detail);
}

void DeviceController::diagnose(double seconds)
{
  diagnostic_msgs::msg::DiagnosticArray message;
  message.header.stamp = get_node()->now();
  auto & status = message.status.emplace_back();
  status.name = std::string(get_node()->get_fully_qualified_name()).substr(1);
  status.hardware_id = hardware_;
  status.message = "ok";
  const auto add = [&status](const std::string & key, const std::string & value) {
      auto & entry = status.values.emplace_back();
      entry.key = key;
      entry.value = value;
    };
  add("rate [1/s]", std::to_string(static_cast<double>(published_tick_ - diagnosed_tick_) / seconds));
  diagnosed_tick_ = published_tick_;
  add("missed ticks", std::to_string(missed_));
  if (lost_) {add("unpublished ticks", std::to_string(lost_));}
  for (std::size_t i = 0; i < limit_names.size(); ++i) {
    if (limited_[i]) {add(std::string("limited: ") + limit_names[i], std::to_string(limited_[i]));}
  }
  for (std::size_t i = 1; i < rejection_names.size(); ++i) {
    const auto count = rejected_[i] + late_rejections_[i];
    if (!count) {continue;}
    add(std::string("rejected: ") + rejection_names[i], std::to_string(count));
    status.level = diagnostic_msgs::msg::DiagnosticStatus::WARN;
    status.message = "inputs were rejected";
  }
  if (told_) {
    add("safe state", stop_reason_);
    status.level = diagnostic_msgs::msg::DiagnosticStatus::ERROR;
    status.message = "safe state: " + stop_reason_;
  }
  diagnostics_->publish(message);
}

void DeviceController::finish(bool over)
{
  if (ended_.exchange(true)) {return;}
  const auto ticks = published_tick_ + 1;
  RCLCPP_INFO(
    get_node()->get_logger(),
    "%" PRId64 " ticks, missed %" PRIu64 ", unpublished %" PRIu64 "; period p50 %.0f, p99 %.0f, max %.0f us",
    ticks, missed_, lost_.load(),
    1e6 * periods_.percentile(50), 1e6 * periods_.percentile(99), 1e6 * periods_.percentile(100));
  Detail detail = limits();
  detail.insert(
    detail.end(), {{"missed", std::to_string(missed_)}, {"state", "inactive"}, {"ticks", std::to_string(ticks)}});
  if (over) {detail.emplace_back("over", "true");}
  publish_event(TickEvent::KIND_STATE, detail);
}

void DeviceController::publish_state(const std::string & state)
{
  Detail detail = detail_;
  detail.emplace_back("state", state);
  publish_event(TickEvent::KIND_STATE, detail);
}

void DeviceController::publish_event(const std::string & kind, const Detail & detail)
{
  const std::lock_guard<std::mutex> guard(event_mutex_);
  event_.header.stamp = rclcpp::Clock(RCL_SYSTEM_TIME).now();
  event_.tick = static_cast<std::uint64_t>(published_tick_ + 1);
  event_.kind = kind;
  event_.values.resize(detail.size());
  for (std::size_t i = 0; i < detail.size(); ++i) {
    event_.values[i].key = detail[i].first;
    event_.values[i].value = detail[i].second;
  }
  events_->publish(event_);
}

}  // namespace haptic_hardware
