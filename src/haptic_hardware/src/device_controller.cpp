// The loop of docs/loop.md in realtime mode as a ros2_control controller: DeviceState out, DeviceCommands in.
//
// `update` runs in the controller manager's realtime thread: it reads and writes the interfaces, takes commands from a
// queue and puts samples into another, without locks and allocations. One thread publishes the samples, another one runs
// the callbacks.

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "haptic_hardware/qos.hpp"
#include "haptic_hardware/tick_loop.hpp"
#include "haptic_msgs/msg/device_command.hpp"
#include "haptic_msgs/msg/device_state.hpp"
#include "haptic_msgs/msg/simulation_state.hpp"
#include "haptic_msgs/msg/tick_event.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/lock_free_queue.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/bool.hpp"
#include "std_srvs/srv/trigger.hpp"

namespace haptic_hardware
{
namespace
{

using haptic_msgs::msg::DeviceCommand;
using haptic_msgs::msg::DeviceState;
using haptic_msgs::msg::SimulationState;
using haptic_msgs::msg::TickEvent;

constexpr std::size_t max_values = 6 * max_joints + 2 * 19 + 7 + 2 * 12 + 3;
constexpr std::size_t command_queue = 64, sample_queue = 1024;
constexpr std::array<const char *, 4> limit_names{"effort", "effort rate", "velocity", "workspace"};  // bits of `limited`
constexpr int thread_priority = 20;  // below the loop's, and that of the rendering nodes

/// What one tick publishes; `values` in the order of the state interfaces.
struct Sample
{
  std::int64_t tick = 0, stamp = 0;
  std::uint64_t missed = 0;
  std::uint32_t silent = 0, conflicting = 0;  // of the loop
  std::int64_t held_up = 0;
  std::uint8_t status = 0, limited = 0;
  bool over = false;  // the run's last tick was published before
  std::array<double, 6> rendered{};
  std::array<double, max_values> values{};
};

/// Puts threads under SCHED_FIFO through which ticks and answers pass: the given ones, and those of Fast DDS. Its threads
/// that repeat messages for a reader without room keep their priority, as in haptic_core.process.raise_priority.
bool raise_priority(std::initializer_list<pthread_t> own)
{
  bool raised = true;
  sched_param parameters{};
  parameters.sched_priority = thread_priority;
  for (const auto thread : own) {raised &= pthread_setschedparam(thread, SCHED_FIFO, &parameters) == 0;}
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(entry.path() / "comm") >> name;
    if (name.rfind("dds.", 0) != 0 || name.rfind("dds.asyn", 0) == 0) {continue;}
    const auto thread = static_cast<pid_t>(std::stol(entry.path().filename().string()));
    if (sched_getscheduler(thread) == SCHED_OTHER) {raised &= sched_setscheduler(thread, SCHED_FIFO, &parameters) == 0;}
  }
  return raised;
}

rclcpp::QoS event_qos() {return rclcpp::QoS(event_depth).reliable().transient_local();}

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

void append_six(std::vector<std::string> & names, const std::string & component, const char * first, const char * second)
{
  for (const std::string part : {first, second}) {append(names, component + part, {".x", ".y", ".z"});}
}

/// The values of a TickEvent: path and text.
using Detail = std::vector<std::pair<std::string, std::string>>;

}  // namespace

class DeviceController : public controller_interface::ControllerInterface
{
public:
  using Return = controller_interface::return_type;
  using CallbackReturn = controller_interface::CallbackReturn;
  using Configuration = controller_interface::InterfaceConfiguration;

  ~DeviceController() override {stop_threads();}

  CallbackReturn on_init() override
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
      auto_declare<bool>("recorded", false);
      auto_declare<std::vector<std::string>>("detail", {});
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    sem_init(&wake_, 0, 0);
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    try {
      read_parameters();
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "configure refused: %s", error.what());
      return CallbackReturn::ERROR;
    }
    const std::size_t n = joints_.size();
    period_ = 1.0 / get_update_rate();
    loop_ = std::make_unique<TickLoop>(sources_.size(), n, follows_, watchdog_);
    name_interfaces();
    make_messages();
    make_publishers();
    return CallbackReturn::SUCCESS;
  }

  Configuration state_interface_configuration() const override
  {
    return {controller_interface::interface_configuration_type::INDIVIDUAL, state_names_};
  }

  Configuration command_interface_configuration() const override
  {
    return {controller_interface::interface_configuration_type::INDIVIDUAL, command_names_};
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    for (std::size_t i = 0; i < state_names_.size(); ++i) {
      if (state_interfaces_.at(i).get_name() != state_names_[i]) {return CallbackReturn::ERROR;}
    }
    for (std::size_t i = 0; i < command_names_.size(); ++i) {
      if (command_interfaces_.at(i).get_name() != command_names_[i]) {return CallbackReturn::ERROR;}
    }
    loop_->restart();
    if (emergency_) {loop_->stop();}  // only a reset ends it
    samples_ = std::make_unique<Samples>();
    commands_ = std::make_unique<Commands>();
    phase_ = Phase::waiting;
    ready_ = reset_asked_ = false;
    ended_ = told_ = false;
    limited_ = {};
    limits_told_ = 0;
    published_tick_ = diagnosed_tick_ = -1;
    missed_ = 0;
    rejected_ = {};
    for (auto & count : late_rejections_) {count = 0;}
    lost_ = 0;
    {
      const std::lock_guard<std::mutex> guard(states_mutex_);
      active_sources_.clear();
    }
    periods_.clear();
    const auto resets = command_interfaces_[1].get_optional();
    resets_ = resets && std::isfinite(*resets) ? *resets + 1.0 : 1.0;  // the device begins anew
    act(run_idle, Action{});
    start_threads();
    publish_state("active");
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    act(run_idle, Action{});
    stop_threads();
    finish();
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_error(const rclcpp_lifecycle::State &) override
  {
    stop_threads();
    finish();
    return CallbackReturn::SUCCESS;
  }

  Return update(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
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
    switch (phase_) {
      case Phase::waiting:
        act(run_idle, Action{});
        if (ready_) {
          emit(0);
          phase_ = Phase::starting;
        }
        break;
      case Phase::starting:  // the clock starts once tick 0 is answered: a first answer takes longer than all others
        act(run_idle, Action{});
        if (loop_->complete()) {
          phase_ = Phase::running;
          advance();
        }
        break;
      case Phase::running:
        periods_.add(period.seconds());
        advance(std::max<std::int64_t>(0, static_cast<std::int64_t>(period.seconds() / period_) - 1));
        break;
      case Phase::over:
        act(run_idle, Action{});
        break;
    }
    return Return::OK;
  }

private:
  enum class Phase { waiting, starting, running, over };
  using Samples = realtime_tools::LockFreeSPSCQueue<Sample, sample_queue>;
  using Commands = realtime_tools::LockFreeSPSCQueue<Command, command_queue>;

  // ---- configuration ----------------------------------------------------------------------------------------------

  template<class T>
  T parameter(const std::string & name) {return get_node()->get_parameter(name).get_value<T>();}

  void read_parameters()
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
    display_rate_ = parameter<double>("display_rate");
    activation_timeout_ = parameter<double>("activation_timeout");
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
      "joints, passive_joints: expected 1 to 12 and 0 to 12 names");
    require(!sources_.empty() && sources_.size() <= max_sources, "sources: expected 1 to 8 names");
    require(watchdog >= 1, "watchdog_periods: expected 1 or more, got " + std::to_string(watchdog));
    require(ticks_ >= 0, "ticks: expected 0 or more, got " + std::to_string(ticks_));
    require(display_rate_ > 0.0 && std::isfinite(display_rate_), "display_rate: expected above 0");
    detail_.clear();
    for (const auto & entry : parameter<std::vector<std::string>>("detail")) {
      const auto end = entry.find('=');
      require(end != 0 && end != std::string::npos, "detail: expected path=value, got '" + entry + "'");
      detail_.emplace_back(entry.substr(0, end), entry.substr(end + 1));
    }
    watchdog_ = static_cast<std::uint64_t>(watchdog);
  }

  /// In the order of haptic_devices.control.hosted.interface_names.
  void name_interfaces()
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

  void make_messages()
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

  void make_publishers()
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

  // ---- the realtime thread ----------------------------------------------------------------------------------------

  /// Writes the command interfaces.
  void act(double run, const Action & action)
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

  /// \param skipped ticks that passed without a call
  void advance(std::int64_t skipped = 0)
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
    act(loop_->status() == Status::ok ? run_on : run_stop, action);
    emit(loop_->tick());
  }

  /// Hands a tick to the publishing thread.
  void emit(std::int64_t tick)
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
    push();
  }

  void push()
  {
    if (!samples_->push(sample_)) {++lost_;}
    sem_post(&wake_);
  }

  // ---- the thread of the callbacks --------------------------------------------------------------------------------

  void on_command(const DeviceCommand & message)
  {
    if (published_tick_ < 0) {return;}
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

  void on_event(const TickEvent & event)
  {
    if (event.kind != TickEvent::KIND_STATE || std::find(sources_.begin(), sources_.end(), event.source) == sources_.end()) {return;}
    const auto value = [&event](const char * key) {
        const auto found = std::find_if(
          event.values.begin(), event.values.end(), [key](const auto & entry) {return entry.key == key;});
        return found == event.values.end() ? std::string() : found->value;
      };
    const std::lock_guard<std::mutex> guard(states_mutex_);
    if (value("state") == "active") {
      active_sources_[event.source] = value("mode");
    } else {
      active_sources_.erase(event.source);
    }
  }

  void on_reset(std_srvs::srv::Trigger::Response & response)
  {
    const std::string name = get_node()->get_name();
    if (published_tick_ < 0) {
      response.message = name + ": not running, nothing to reset";
      return;
    }
    emergency_ = nullptr;
    reset_asked_ = true;
    publish_event(TickEvent::KIND_RESET, {});
    response.success = true;
    response.message = name + ": reset before tick " + std::to_string(published_tick_ + 1);
  }

  /// Latches: safe state from the next cycle on, also through deactivation and a new start.
  void stop_now(const char * reason)
  {
    if (!emergency_) {emergency_ = reason;}
  }

  /// Counts a rejected command and logs it at most once a second for each kind.
  void reject(Rejection kind, const std::string & text)
  {
    const auto i = static_cast<std::size_t>(kind);
    const auto now = std::chrono::steady_clock::now();
    if (rejected_[i]++ == 0 || now - rejection_told_[i] >= std::chrono::seconds(1)) {
      rejection_told_[i] = now;
      RCLCPP_ERROR(
        get_node()->get_logger(), "rejected (%s, %lu so far): %s", rejection_names[i],
        static_cast<unsigned long>(rejected_[i]), text.c_str());
    }
  }

  // ---- the publishing thread --------------------------------------------------------------------------------------

  void start_threads()
  {
    stopping_ = false;
    executor_ = std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
    executor_->add_callback_group(group_, get_node()->get_node_base_interface());
    callback_thread_ = std::thread([this] {executor_->spin();});
    publishing_thread_ = std::thread([this] {publish_samples();});
  }

  void stop_threads()
  {
    if (!publishing_thread_.joinable()) {return;}
    stopping_ = true;
    sem_post(&wake_);
    publishing_thread_.join();
    executor_->cancel();
    callback_thread_.join();
    executor_.reset();
  }

  void publish_samples()
  {
    const auto start = std::chrono::steady_clock::now();
    auto diagnosed = start;
    auto sample = std::make_unique<Sample>();
    while (!stopping_) {
      timespec until;
      clock_gettime(CLOCK_MONOTONIC, &until);
      until.tv_nsec += 20'000'000;
      until.tv_sec += until.tv_nsec / 1'000'000'000;
      until.tv_nsec %= 1'000'000'000;
      sem_clockwait(&wake_, CLOCK_MONOTONIC, &until);
      if (!ready_ && !ended_) {wait_for_sources(start);}
      while (samples_->pop(*sample)) {
        if (sample->over) {
          finish(true);
        } else {
          publish(*sample);
        }
      }
      const auto now = std::chrono::steady_clock::now();
      if (now - diagnosed >= std::chrono::seconds(1)) {
        diagnose(std::chrono::duration<double>(now - diagnosed).count());
        diagnosed = now;
      }
    }
  }

  /// Lets the first tick go once all sources are active and everybody receives what is published.
  void wait_for_sources(std::chrono::steady_clock::time_point start)
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
      if (!raise_priority({pthread_self(), callback_thread_.native_handle()})) {
        RCLCPP_WARN(get_node()->get_logger(), "no realtime priority (ulimit -r): other programs can delay ticks");
      }
      published_tick_ = 0;
      ready_ = true;
    } else if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > activation_timeout_) {
      fail("waited for all sources; still missing: " + missing);
    }
  }

  /// Names the nodes that do not yet receive what a publisher sends.
  std::string unmatched(const rclcpp::PublisherBase & publisher, const std::vector<std::string> & names)
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

  void fail(const std::string & reason)
  {
    ended_ = true;
    RCLCPP_FATAL(get_node()->get_logger(), "%s", reason.c_str());
    publish_event(TickEvent::KIND_STATE, {{"reason", reason}, {"state", "failed"}});
  }

  void publish(const Sample & sample)
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

  void publish_truth(const double * x)
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

  void publish_display(const Sample & sample, const double * tool, const double * passive)
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

  /// As plain tools expect it: at the origin of its frame, the tool's, and in the axes of that.
  void publish_wrench(
    const rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr & publisher, const double * orientation,
    const double * wrench)
  {
    if (!publisher || !publisher->get_subscription_count()) {return;}
    wrench_.header.stamp = state_.header.stamp;
    set_wrench(wrench_.wrench, tool_frame_.empty() ? wrench : turned_back(orientation, wrench).data());
    publisher->publish(wrench_);
  }

  /// Counts the ticks in which limits acted, and says so at once and then at most every 1000 ticks.
  void count_limits(const Sample & sample)
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
      get_node()->get_logger(), "limited at tick %ld: ticks so far: %s", static_cast<long>(sample.tick), text.c_str());
  }

  /// Ticks in which each limit acted, for an event.
  Detail limits() const
  {
    Detail found;
    for (std::size_t i = 0; i < limit_names.size(); ++i) {
      if (limited_[i]) {found.emplace_back(std::string("limited/") + limit_names[i], std::to_string(limited_[i]));}
    }
    return found;
  }

  /// Says once why the device went to its safe state.
  void tell_stop(const Sample & sample)
  {
    told_ = true;
    auto & reason = stop_reason_ = "the hardware stopped: its log says why";
    const auto names = [this](std::uint32_t mask) {
        std::string text;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
          if (mask & (1u << i)) {text += (text.empty() ? "" : ", ") + sources_[i];}
        }
        return text;
      };
    if (const char * emergency = emergency_) {
      reason = emergency;
    } else if (sample.held_up) {
      reason = "the device was held up for " + std::to_string(sample.held_up) + " ticks";
    } else if (sample.silent) {
      reason = "source " + names(sample.silent) + ": silent for " + std::to_string(watchdog_) + " ticks";
    } else if (sample.conflicting) {
      reason = "source " + names(sample.conflicting) + ": " +
        (follows_ ? "an admittance device takes one MOTION and nothing beside it" :
        "an impedance device takes EFFORT or WRENCH, not MOTION");
    }
    RCLCPP_ERROR(
      get_node()->get_logger(), "safe state at tick %ld: %s", static_cast<long>(published_tick_), reason.c_str());
    publish_event(TickEvent::KIND_ERROR, {{"reason", reason}, {"status", std::to_string(sample.status)}});
  }

  void diagnose(double seconds)
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

  /// Says once that the run is over, and how it went.
  void finish(bool over = false)
  {
    if (ended_.exchange(true)) {return;}
    const auto ticks = published_tick_ + 1;
    RCLCPP_INFO(
      get_node()->get_logger(), "%ld ticks, missed %lu, unpublished %lu; period p50 %.0f, p99 %.0f, max %.0f us",
      static_cast<long>(ticks), static_cast<unsigned long>(missed_), static_cast<unsigned long>(lost_.load()),
      1e6 * periods_.percentile(50), 1e6 * periods_.percentile(99), 1e6 * periods_.percentile(100));
    Detail detail = limits();
    detail.insert(
      detail.end(), {{"missed", std::to_string(missed_)}, {"state", "inactive"}, {"ticks", std::to_string(ticks)}});
    if (over) {detail.emplace_back("over", "true");}
    publish_event(TickEvent::KIND_STATE, detail);
  }

  void publish_state(const std::string & state)
  {
    Detail detail = detail_;
    detail.emplace_back("state", state);
    publish_event(TickEvent::KIND_STATE, detail);
  }

  void publish_event(const std::string & kind, const Detail & detail)
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

  std::string hardware_, base_frame_, tool_frame_;
  Detail detail_;
  std::vector<std::string> joints_, passive_, sources_, state_names_, command_names_;
  bool follows_ = false, has_sensor_ = false, simulated_ = false, recorded_ = false;
  double display_rate_ = 50.0, activation_timeout_ = 1800.0, period_ = 1e-3;
  std::uint64_t watchdog_ = 20;
  std::int64_t ticks_ = 0;

  std::unique_ptr<TickLoop> loop_;
  Phase phase_ = Phase::waiting;
  double resets_ = 1.0;
  Sample sample_;
  Times periods_;

  std::unique_ptr<Samples> samples_;
  std::unique_ptr<Commands> commands_;
  sem_t wake_;
  std::atomic<bool> ready_{false}, reset_asked_{false}, stopping_{false}, ended_{false};
  std::atomic<const char *> emergency_{nullptr};  // why, until a reset
  std::atomic<std::int64_t> published_tick_{-1};
  std::atomic<std::uint64_t> lost_{0};
  std::array<std::atomic<std::uint64_t>, rejection_names.size()> late_rejections_{};
  std::array<std::uint64_t, rejection_names.size()> rejected_{};
  std::array<std::chrono::steady_clock::time_point, rejection_names.size()> rejection_told_{};
  std::int64_t diagnosed_tick_ = -1;
  std::uint64_t missed_ = 0;
  bool told_ = false;  // why the status is not ok
  std::string stop_reason_;  // what was told last
  std::array<std::uint64_t, limit_names.size()> limited_{};  // ticks
  std::uint64_t limits_told_ = 0;
  std::int64_t limits_tick_ = 0;
  std::mutex states_mutex_, event_mutex_;
  std::map<std::string, std::string> active_sources_;  // their modes

  DeviceState state_;
  SimulationState truth_;
  sensor_msgs::msg::JointState joint_state_;
  geometry_msgs::msg::WrenchStamped wrench_;
  TickEvent event_;

  rclcpp::Publisher<DeviceState>::SharedPtr states_;
  rclcpp::Publisher<SimulationState>::SharedPtr truths_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr joint_states_;
  rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr wrenches_, measured_;
  rclcpp::Publisher<TickEvent>::SharedPtr events_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::Subscription<DeviceCommand>::SharedPtr command_subscription_;
  rclcpp::Subscription<TickEvent>::SharedPtr event_subscription_;
  rclcpp::Subscription<std_msgs::msg::Bool>::SharedPtr emergency_subscription_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr reset_service_, emergency_service_;
  std::unique_ptr<rclcpp::executors::SingleThreadedExecutor> executor_;
  std::thread callback_thread_, publishing_thread_;
};

}  // namespace haptic_hardware

PLUGINLIB_EXPORT_CLASS(haptic_hardware::DeviceController, controller_interface::ControllerInterface)
