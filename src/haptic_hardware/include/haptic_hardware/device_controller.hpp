// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The loop of docs/loop.md in realtime mode as a ros2_control controller: DeviceState out, DeviceCommands in.
//
// `update` runs in the controller manager's realtime thread: it reads and writes the interfaces, takes commands from a
// queue and puts samples into another, without locks and allocations. One thread publishes the samples, another one
// runs the callbacks.

#ifndef HAPTIC_HARDWARE__DEVICE_CONTROLLER_HPP_
#define HAPTIC_HARDWARE__DEVICE_CONTROLLER_HPP_

#include <semaphore.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "haptic_hardware/flight_recorder.hpp"
#include "haptic_hardware/period_grid.hpp"
#include "haptic_hardware/stop_records.hpp"
#include "haptic_hardware/tick_loop.hpp"
#include "haptic_msgs/msg/device_command.hpp"
#include "haptic_msgs/msg/device_state.hpp"
#include "haptic_msgs/msg/simulation_state.hpp"
#include "haptic_msgs/msg/tick_event.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/lock_free_queue.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/bool.hpp"
#include "std_srvs/srv/trigger.hpp"

namespace haptic_hardware
{

using haptic_msgs::msg::DeviceCommand;
using haptic_msgs::msg::DeviceState;
using haptic_msgs::msg::SimulationState;
using haptic_msgs::msg::TickEvent;

constexpr std::size_t max_values = 6 * max_joints + 2 * 19 + 7 + 2 * 12 + 3;
constexpr std::size_t command_queue = 64, sample_queue = 1024;
/// Names of the bits of `limited`.
constexpr std::array<const char *, 4> limit_names{"effort", "effort rate", "velocity", "workspace"};

/// What one tick publishes; `values` in the order of the state interfaces.
struct Sample
{
  std::int64_t tick = 0, stamp = 0;
  std::uint64_t missed = 0;
  std::uint32_t silent = 0, conflicting = 0;  // of the loop
  std::uint32_t unanswered = 0;  // sources that did not answer the first tick in time; no tick is published
  std::int64_t held_up = 0;
  std::uint8_t status = 0, limited = 0;
  bool over = false;  // the run's last tick was published before
  std::array<double, 6> rendered{};
  std::array<double, max_values> values{};
};

/// The values of a TickEvent: path and text.
using Detail = std::vector<std::pair<std::string, std::string>>;

class DeviceController : public controller_interface::ControllerInterface
{
public:
  using Return = controller_interface::return_type;
  using CallbackReturn = controller_interface::CallbackReturn;
  using Configuration = controller_interface::InterfaceConfiguration;

  ~DeviceController() override {stop_threads();}
  CallbackReturn on_init() override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override;
  Configuration state_interface_configuration() const override;
  Configuration command_interface_configuration() const override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_error(const rclcpp_lifecycle::State &) override;
  Return update(const rclcpp::Time &, const rclcpp::Duration & period) override;

private:
  enum class Phase { waiting, starting, running, over };
  using Samples = realtime_tools::LockFreeSPSCQueue<Sample, sample_queue>;
  using Commands = realtime_tools::LockFreeSPSCQueue<Command, command_queue>;

  template<class T>
  T parameter(const std::string & name) {return get_node()->get_parameter(name).get_value<T>();}

  // ---- configuration, in controller_configuration.cpp
  void read_parameters();
  /// In the order of haptic_devices.control.hosted.interface_names.
  void name_interfaces();
  void make_messages();
  void make_publishers();

  // ---- the realtime thread, in device_controller.cpp
  /// Writes the command interfaces.
  void act(double run, const Action & action);
  /// \param skipped ticks that passed without a call
  void advance(std::int64_t skipped = 0);
  /// Hands a tick to the publishing thread.
  void emit(std::int64_t tick);
  void push();
  /// Ends the wait for the answers to the first tick: safe state until the next activation.
  void give_up();

  // ---- the thread of the callbacks, in device_controller.cpp
  void on_command(const DeviceCommand & message);
  void on_event(const TickEvent & event);
  void on_reset(std_srvs::srv::Trigger::Response & response);
  /// Latches: safe state from the next cycle on, also through deactivation and a new start.
  void stop_now(const char * reason);
  /// Counts a rejected command and logs it at most once a second for each kind.
  void reject(Rejection kind, const std::string & text);

  // ---- the publishing thread, in controller_publishing.cpp
  void start_threads();
  void stop_threads();
  void publish_samples();
  /// Publishes what the realtime thread has handed over.
  void publish_waiting(Sample & sample);
  /// Lets the first tick go once all sources are active and everybody receives what is published.
  void wait_for_sources(std::chrono::steady_clock::time_point start, pid_t callback_thread);
  /// Names the nodes that do not yet receive what a publisher sends.
  std::string unmatched(const rclcpp::PublisherBase & publisher, const std::vector<std::string> & names);
  void fail(const std::string & reason);
  /// Names sources (bit i).
  std::string names_of(std::uint32_t sources) const;
  void publish(const Sample & sample);
  void publish_truth(const double * x);
  void publish_display(const Sample & sample, const double * tool, const double * passive);
  /// As plain tools expect it: at the origin of its frame, the tool's, and in the axes of that.
  void publish_wrench(
    const rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr & publisher, const double * orientation,
    const double * wrench);
  /// Counts the ticks in which limits acted, and says so at once and then at most every 1000 ticks.
  void count_limits(const Sample & sample);
  /// Ticks in which each limit acted, for an event.
  Detail limits() const;
  /// Says once why the device went to its safe state, and which of the ticks before took longest.
  void tell_stop(const Sample & sample);
  void diagnose(double seconds);
  /// Says once that the run is over, and how it went.
  void finish(bool over = false);
  void publish_state(const std::string & state);
  void publish_event(const std::string & kind, const Detail & detail);

  // what the parameters say
  std::string hardware_, base_frame_, tool_frame_;
  Detail detail_;
  std::vector<std::string> joints_, passive_, sources_, state_names_, command_names_;
  bool follows_ = false, has_sensor_ = false, simulated_ = false, recorded_ = false;
  double display_rate_ = 50.0, activation_timeout_ = 1800.0, answer_timeout_ = 10.0, period_ = 1e-3;
  std::uint64_t watchdog_ = 20;
  std::int64_t ticks_ = 0;

  // of the realtime thread
  std::unique_ptr<TickLoop> loop_;
  std::unique_ptr<PeriodGrid> grid_;
  std::unique_ptr<FlightRecorder<>> flight_;
  Phase phase_ = Phase::waiting;
  double resets_ = 1.0;
  std::int64_t first_tick_ = 0, waited_ = 0;  // tick of this activation's start; wait for its answers [ns]
  Sample sample_;
  Times periods_;

  // between the threads, and of the publishing one
  std::unique_ptr<Samples> samples_;
  std::unique_ptr<Commands> commands_;
  sem_t wake_;
  std::atomic<bool> ready_{false}, reset_asked_{false}, ramp_asked_{false}, stopping_{false}, ended_{false};
  std::atomic<bool> over_{false};  // the run's last tick was published
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
  std::unique_ptr<StopRecords> stop_records_;
  std::unique_ptr<rclcpp::executors::SingleThreadedExecutor> executor_;
  std::promise<void> callbacks_end_;
  std::future<pid_t> callback_thread_id_;
  std::thread callback_thread_, publishing_thread_;
};

}  // namespace haptic_hardware

#endif  // HAPTIC_HARDWARE__DEVICE_CONTROLLER_HPP_
