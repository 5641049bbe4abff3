// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The controller's lifecycle, its realtime thread, and the callbacks of commands, events and stops.

#include "haptic_hardware/device_controller.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "pluginlib/class_list_macros.hpp"

namespace haptic_hardware
{

DeviceController::CallbackReturn DeviceController::on_init()
{
  try {
    auto_declare<std::string>("hardware", "");
    auto_declare<std::string>("kind", "impedance");
    auto_declare<std::vector<std::string>>("joints", {});
    auto_declare<std::vector<std::string>>("passive_joints", {""});
    auto_declare<std::string>("base_frame", "");
    auto_declare<std::string>("tool_frame", "");
    auto_declare<bool>("has_force_sensor", false);
    auto_declare<bool>("simulated", false);
    auto_declare<std::vector<std::string>>("sources", {});
    auto_declare<std::int64_t>("watchdog_periods", 20);
    auto_declare<std::int64_t>("ticks", 0);
    auto_declare<double>("display_rate", 50.0);
    auto_declare<double>("activation_timeout", 1800.0);
    auto_declare<double>("answer_timeout", 10.0);
    auto_declare<bool>("recorded", false);
    auto_declare<std::vector<std::string>>("detail", {});
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  sem_init(&wake_, 0, 0);
  return CallbackReturn::SUCCESS;
}

DeviceController::CallbackReturn DeviceController::on_configure(const rclcpp_lifecycle::State &)
{
  try {
    read_parameters();
    stop_records_ = std::make_unique<StopRecords>(
      get_node()->get_fully_qualified_name(), records_directory(rclcpp::get_logging_directory().string()),
      [logger = get_node()->get_logger()](const std::string & text) {RCLCPP_WARN(logger, "%s", text.c_str());});
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "configure refused: %s", error.what());
    return CallbackReturn::FAILURE;
  }
  const std::size_t n = joints_.size();
  period_ = 1.0 / get_update_rate();
  const auto period = std::llround(1e9 * period_);
  loop_ = std::make_unique<TickLoop>(sources_.size(), n, follows_, watchdog_);
  grid_ = std::make_unique<PeriodGrid>(period);
  flight_ = std::make_unique<FlightRecorder<>>(period);
  active_sources_.clear();  // the new subscription gets their latched events
  name_interfaces();
  make_messages();
  make_publishers();
  return CallbackReturn::SUCCESS;
}

DeviceController::Configuration DeviceController::state_interface_configuration() const
{
  return {controller_interface::interface_configuration_type::INDIVIDUAL, state_names_};
}

DeviceController::Configuration DeviceController::command_interface_configuration() const
{
  return {controller_interface::interface_configuration_type::INDIVIDUAL, command_names_};
}

DeviceController::CallbackReturn DeviceController::on_activate(const rclcpp_lifecycle::State &)
{
  for (std::size_t i = 0; i < state_names_.size(); ++i) {
    if (state_interfaces_.at(i).get_name() != state_names_[i]) {return CallbackReturn::ERROR;}
  }
  for (std::size_t i = 0; i < command_names_.size(); ++i) {
    if (command_interfaces_.at(i).get_name() != command_names_[i]) {return CallbackReturn::ERROR;}
  }
  // after a pause the ticks continue, as sources and recorder expect; a run that is over begins anew
  if (over_.exchange(false) || (ticks_ && published_tick_ + 1 >= ticks_)) {published_tick_ = -1;}
  first_tick_ = published_tick_ + 1;
  loop_->restart(first_tick_);
  if (emergency_) {loop_->stop();}  // only a reset ends it
  samples_ = std::make_unique<Samples>();
  commands_ = std::make_unique<Commands>();
  phase_ = Phase::waiting;
  waited_ = 0;
  sample_ = Sample{};
  ready_ = reset_asked_ = false;
  ended_ = told_ = false;
  limited_ = {};
  limits_told_ = 0;
  diagnosed_tick_ = published_tick_;
  missed_ = 0;
  rejected_ = {};
  ramp_asked_ = false;
  for (auto & count : late_rejections_) {count = 0;}
  lost_ = 0;
  periods_.clear();
  const auto resets = command_interfaces_[1].get_optional();
  resets_ = resets && std::isfinite(*resets) ? *resets + 1.0 : 1.0;  // the device begins anew
  act(run_idle, Action{});
  start_threads();
  publish_state("active");
  return CallbackReturn::SUCCESS;
}

DeviceController::CallbackReturn DeviceController::on_deactivate(const rclcpp_lifecycle::State &)
{
  act(run_idle, Action{});
  flight_->stop();
  stop_threads();
  finish();
  return CallbackReturn::SUCCESS;
}

DeviceController::CallbackReturn DeviceController::on_error(const rclcpp_lifecycle::State &)
{
  if (!publishing_thread_.joinable()) {return CallbackReturn::SUCCESS;}  // it was not active, perhaps not configured
  flight_->stop();
  stop_threads();
  finish();
  return CallbackReturn::SUCCESS;
}

DeviceController::Return DeviceController::update(const rclcpp::Time &, const rclcpp::Duration & period)
{
  flight_->mark(FlightPhase::manager);
  Command command;
  while (commands_->pop(command)) {
    const Rejection rejection = loop_->offer(command);
    if (rejection != Rejection::none && command.unusable == Rejection::none) {
      ++late_rejections_[static_cast<std::size_t>(rejection)];
    }
  }
  if (reset_asked_.exchange(false)) {
    resets_ += 1.0;
    loop_->resume();
  }
  if (emergency_) {loop_->stop();}
  flight_->mark(FlightPhase::answers);
  switch (phase_) {
    case Phase::waiting:
      act(run_idle, Action{});
      if (ready_) {
        flight_->start();
        emit(first_tick_);
        phase_ = Phase::starting;
      }
      break;
    case Phase::starting:  // the clock starts once tick 0 is answered: a first answer takes longer than all others
      act(run_idle, Action{});
      waited_ += period.nanoseconds();
      if (loop_->complete()) {
        phase_ = Phase::running;
        grid_->restart();
        advance();
      } else if (1e-9 * static_cast<double>(waited_) > answer_timeout_) {
        give_up();
      }
      break;
    case Phase::running:
      periods_.add(period.seconds());
      if (const auto due = grid_->update(period.nanoseconds()); due.tick) {advance(due.skipped);}
      break;
    case Phase::over:
      act(run_idle, Action{});
      break;
  }
  return Return::OK;
}

void DeviceController::act(double run, const Action & action)
{
  std::size_t i = 0;
  const auto put = [&](double value) {(void)command_interfaces_[i++].set_value(value);};
  put(run);
  put(resets_);
  if (follows_) {
    put(action.motion.fields);
    put(action.motion.by_joints);
    for (const double x : action.motion.tool) {put(x);}
    for (std::size_t k = 0; k < joints_.size(); ++k) {put(action.motion.joint_position[k]);}
    for (std::size_t k = 0; k < joints_.size(); ++k) {put(action.motion.joint_velocity[k]);}
  } else {
    for (std::size_t k = 0; k < joints_.size(); ++k) {put(action.effort[k]);}
    for (const double x : action.wrench) {put(x);}
  }
}

void DeviceController::advance(std::int64_t skipped)
{
  if (ticks_ && loop_->tick() + 1 >= ticks_) {
    phase_ = Phase::over;
    act(run_idle, Action{});
    sample_.over = true;
    push();
    return;
  }
  const Action & action = loop_->advance(skipped);
  sample_.rendered = action.wrench;
  const double run = ramp_asked_.exchange(false) ? run_ramp : run_on;
  act(loop_->status() == Status::ok ? run : run_stop, action);
  flight_->mark(FlightPhase::write);
  emit(loop_->tick());
}

void DeviceController::emit(std::int64_t tick)
{
  for (std::size_t i = 0; i < state_interfaces_.size(); ++i) {
    if (const auto value = state_interfaces_[i].get_optional()) {sample_.values[i] = *value;}
  }
  sample_.tick = tick;
  sample_.stamp = std::chrono::duration_cast<std::chrono::nanoseconds>(
    std::chrono::system_clock::now().time_since_epoch()).count();
  const auto hardware = static_cast<std::uint8_t>(sample_.values[state_interfaces_.size() - 2]);
  sample_.status = std::max(hardware, static_cast<std::uint8_t>(loop_->status()));
  sample_.limited = static_cast<std::uint8_t>(sample_.values[state_interfaces_.size() - 1]);
  sample_.missed = loop_->missed();
  sample_.held_up = loop_->held_up();
  sample_.silent = loop_->silent();
  sample_.conflicting = loop_->conflicting();
  sample_.over = false;
  flight_->mark(FlightPhase::read);
  flight_->end(tick);  // before the publishing thread may ask for it
  push();
  flight_->mark(FlightPhase::publishing);
}

void DeviceController::give_up()
{
  phase_ = Phase::over;
  loop_->stop();
  act(run_stop, Action{});
  sample_.unanswered = loop_->unanswered();
  push();
}

void DeviceController::push()
{
  if (!samples_->push(sample_)) {++lost_;}
  sem_post(&wake_);
}

void DeviceController::on_command(const DeviceCommand & message)
{
  if (!ready_) {return;}
  const Command command = parse(message, sources_, joints_.size());
  if (command.source < 0) {
    reject(Rejection::unknown_source, "source: expected one of the parameter sources, got '" + message.source + "'");
    return;
  }
  if (command.unusable != Rejection::none) {
    reject(command.unusable, "command of " + message.source + " for tick " + std::to_string(message.tick));
  }
  if (!commands_->push(command)) {reject(Rejection::duplicate, "more commands than ticks, from " + message.source);}
}

void DeviceController::on_event(const TickEvent & event)
{
  if (event.kind != TickEvent::KIND_STATE) {return;}
  if (std::find(sources_.begin(), sources_.end(), event.source) == sources_.end()) {return;}
  const auto value = [&event](const char * key) {
      const auto found = std::find_if(
        event.values.begin(), event.values.end(), [key](const auto & entry) {return entry.key == key;});
      return found == event.values.end() ? std::string() : found->value;
    };
  const std::lock_guard<std::mutex> guard(states_mutex_);
  if (value("state") == "active") {
    active_sources_[event.source] = value("mode");
    if (ready_) {
      RCLCPP_WARN(
        get_node()->get_logger(), "source %s has started anew: the commands come in slowly", event.source.c_str());
      ramp_asked_ = true;
    }
  } else {
    active_sources_.erase(event.source);
  }
}

void DeviceController::on_reset(std_srvs::srv::Trigger::Response & response)
{
  const std::string name = get_node()->get_name();
  if (!ready_) {
    response.message = name + ": not running, nothing to reset";
    return;
  }
  emergency_ = nullptr;
  reset_asked_ = true;
  publish_event(TickEvent::KIND_RESET, {});
  response.success = true;
  response.message = name + ": reset before tick " + std::to_string(published_tick_ + 1);
}

void DeviceController::stop_now(const char * reason)
{
  if (!emergency_) {emergency_ = reason;}
}

void DeviceController::reject(Rejection kind, const std::string & text)
{
  const auto i = static_cast<std::size_t>(kind);
  const auto now = std::chrono::steady_clock::now();
  if (rejected_[i]++ == 0 || now - rejection_told_[i] >= std::chrono::seconds(1)) {
    rejection_told_[i] = now;
    RCLCPP_ERROR(
      get_node()->get_logger(), "rejected (%s, %" PRIu64 " so far): %s", rejection_names[i], rejected_[i],
      text.c_str());
  }
}

}  // namespace haptic_hardware

PLUGINLIB_EXPORT_CLASS(haptic_hardware::DeviceController, controller_interface::ControllerInterface)
