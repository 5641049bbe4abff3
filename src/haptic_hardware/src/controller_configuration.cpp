// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The controller's parameters, interfaces, messages, publishers and subscriptions.

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <stdexcept>

#include "haptic_hardware/device_controller.hpp"
#include "haptic_hardware/qos.hpp"

namespace haptic_hardware
{
namespace
{

rclcpp::QoS event_qos() {return rclcpp::QoS(event_depth).reliable().transient_local();}

void append(std::vector<std::string> & names, const std::string & component, std::initializer_list<const char *> parts)
{
  for (const auto * part : parts) {names.push_back(component + part);}
}

void append_pose(std::vector<std::string> & names, const std::string & component)
{
  append(
    names, component, {"position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z",
      "orientation.w"});
}

void append_six(
  std::vector<std::string> & names, const std::string & component, const char * first, const char * second)
{
  for (const std::string part : {first, second}) {append(names, component + part, {".x", ".y", ".z"});}
}

}  // namespace

void DeviceController::read_parameters()
{
  hardware_ = parameter<std::string>("hardware");
  const auto kind = parameter<std::string>("kind");
  joints_ = parameter<std::vector<std::string>>("joints");
  passive_ = parameter<std::vector<std::string>>("passive_joints");
  passive_.erase(std::remove(passive_.begin(), passive_.end(), ""), passive_.end());  // ROS files know no empty list
  sources_ = parameter<std::vector<std::string>>("sources");
  base_frame_ = parameter<std::string>("base_frame");
  tool_frame_ = parameter<std::string>("tool_frame");
  has_sensor_ = parameter<bool>("has_force_sensor");
  simulated_ = parameter<bool>("simulated");
  recorded_ = parameter<bool>("recorded");
  const auto watchdog = parameter<std::int64_t>("watchdog_periods");
  ticks_ = parameter<std::int64_t>("ticks");
  follows_ = kind == "admittance";
  const auto require = [](bool holds, const std::string & text) {
      if (!holds) {throw std::invalid_argument("parameter " + text);}
    };
  require(!hardware_.empty(), "hardware: expected the name of the ros2_control hardware, got ''");
  require(follows_ || kind == "impedance", "kind: expected impedance or admittance, got '" + kind + "'");
  require(
    !joints_.empty() && joints_.size() <= max_joints && passive_.size() <= 12,
    "joints, passive_joints: expected 1 to 12 and 0 to 12 names, got " + std::to_string(joints_.size()) + " and " +
    std::to_string(passive_.size()));
  require(
    !sources_.empty() && sources_.size() <= max_sources,
    "sources: expected 1 to 8 names, got " + std::to_string(sources_.size()));
  require(watchdog >= 1, "watchdog_periods: expected 1 or more, got " + std::to_string(watchdog));
  require(ticks_ >= 0, "ticks: expected 0 or more, got " + std::to_string(ticks_));
  const auto bounded = [this, &require](const std::string & name, double low, double high) {
      const auto value = parameter<double>(name);
      std::ostringstream text;
      text << name << ": expected from " << low << " to " << high << ", got " << value;
      require(low <= value && value <= high, text.str());  // not of NaN
      return value;
    };
  display_rate_ = bounded("display_rate", 0.1, 1000.0);
  activation_timeout_ = bounded("activation_timeout", 0.1, 3600.0);
  answer_timeout_ = bounded("answer_timeout", 0.1, 3600.0);
  detail_.clear();
  for (const auto & entry : parameter<std::vector<std::string>>("detail")) {
    const auto end = entry.find('=');
    require(end != 0 && end != std::string::npos, "detail: expected path=value, got '" + entry + "'");
    detail_.emplace_back(entry.substr(0, end), entry.substr(end + 1));
  }
  watchdog_ = static_cast<std::uint64_t>(watchdog);
}

void DeviceController::name_interfaces()
{
  state_names_.clear();
  command_names_.clear();
  const std::string tool = hardware_ + "_tool/", loop = hardware_ + "_loop/", truth = hardware_ + "_truth/";
  for (const auto * kind : {"/position", "/velocity", "/effort"}) {
    for (const auto & joint : joints_) {state_names_.push_back(joint + kind);}
  }
  append_pose(state_names_, tool);
  append_six(state_names_, tool, "linear_velocity", "angular_velocity");
  append_six(state_names_, hardware_ + "_force_torque/", "force", "torque");
  if (simulated_) {
    for (const auto * kind : {".position", ".velocity", ".effort"}) {
      for (const auto & joint : joints_) {state_names_.push_back(truth + joint + kind);}
    }
    append_pose(state_names_, truth);
    append_six(state_names_, truth, "linear_velocity", "angular_velocity");
    append_six(state_names_, truth, "force", "torque");
    append_pose(state_names_, truth + "target.");
  }
  for (const auto * kind : {"/position", "/velocity"}) {
    for (const auto & joint : passive_) {state_names_.push_back(joint + kind);}
  }
  append(state_names_, loop, {"buttons", "status", "limited"});
  append(command_names_, loop, {"run", "resets"});
  if (follows_) {
    append(command_names_, tool, {"motion_fields", "by_joints"});
    append_pose(command_names_, tool);
    append_six(command_names_, tool, "linear_velocity", "angular_velocity");
    append_six(command_names_, tool, "linear_acceleration", "angular_acceleration");
    for (const auto * kind : {"/position", "/velocity"}) {
      for (const auto & joint : joints_) {command_names_.push_back(joint + kind);}
    }
  } else {
    for (const auto & joint : joints_) {command_names_.push_back(joint + "/effort");}
    append_six(command_names_, tool, "force", "torque");
  }
}

void DeviceController::make_messages()
{
  const std::size_t n = joints_.size();
  state_.header.frame_id = truth_.header.frame_id = joint_state_.header.frame_id = base_frame_;
  wrench_.header.frame_id = tool_frame_.empty() ? base_frame_ : tool_frame_;
  state_.period = period_;
  state_.has_force_sensor = has_sensor_;
  for (auto * field : {&state_.joint_position, &state_.joint_velocity, &state_.joint_effort, &truth_.joint_position,
      &truth_.joint_velocity, &truth_.applied_effort}) {field->resize(n);}
  joint_state_.name = joints_;
  joint_state_.name.insert(joint_state_.name.end(), passive_.begin(), passive_.end());
  for (auto * field : {&joint_state_.position, &joint_state_.velocity, &joint_state_.effort}) {
    field->assign(joint_state_.name.size(), 0.0);
  }
  event_.header.frame_id = "";
  event_.source = get_node()->get_name();
}

void DeviceController::make_publishers()
{
  auto & node = *get_node();
  const auto tick_qos = rclcpp::QoS(depth).reliable();
  const auto kept_qos = rclcpp::QoS(kept_ticks).reliable();
  states_ = rclcpp::create_publisher<DeviceState>(node, "device_state", kept_qos);
  truths_ = simulated_ ? rclcpp::create_publisher<SimulationState>(node, "simulation_state", kept_qos) : nullptr;
  joint_states_ = rclcpp::create_publisher<sensor_msgs::msg::JointState>(node, "joint_states", tick_qos);
  wrenches_ = rclcpp::create_publisher<geometry_msgs::msg::WrenchStamped>(node, "rendered_wrench", tick_qos);
  measured_ = has_sensor_ ?
    rclcpp::create_publisher<geometry_msgs::msg::WrenchStamped>(node, "measured_wrench", tick_qos) : nullptr;
  events_ = rclcpp::create_publisher<TickEvent>(node, "tick_event", event_qos());
  diagnostics_ = rclcpp::create_publisher<diagnostic_msgs::msg::DiagnosticArray>(node, "/diagnostics", tick_qos);
  group_ = node.create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);
  rclcpp::SubscriptionOptions options;
  options.callback_group = group_;
  command_subscription_ = rclcpp::create_subscription<DeviceCommand>(
    node, "device_command", tick_qos, [this](const DeviceCommand & command) {on_command(command);}, options);
  event_subscription_ = rclcpp::create_subscription<TickEvent>(
    node, "tick_event", event_qos(), [this](const TickEvent & event) {on_event(event);}, options);
  reset_service_ = node.create_service<std_srvs::srv::Trigger>(
    "~/reset",
    [this](std_srvs::srv::Trigger::Request::ConstSharedPtr, std_srvs::srv::Trigger::Response::SharedPtr response) {
      on_reset(*response);
    }, rclcpp::ServicesQoS(), group_);
  emergency_service_ = node.create_service<std_srvs::srv::Trigger>(
    "~/emergency_stop",
    [this](std_srvs::srv::Trigger::Request::ConstSharedPtr, std_srvs::srv::Trigger::Response::SharedPtr response) {
      stop_now("emergency stop by service");
      const std::string name = get_node()->get_name();
      response->success = true;
      response->message = name + ": " + emergency_.load() + "; " + name + "/reset ends it";
    }, rclcpp::ServicesQoS(), group_);
  emergency_subscription_ = rclcpp::create_subscription<std_msgs::msg::Bool>(
    node, "emergency_stop", tick_qos,
    [this](const std_msgs::msg::Bool & pressed) {if (pressed.data) {stop_now("emergency stop by topic");}}, options);
}

}  // namespace haptic_hardware
