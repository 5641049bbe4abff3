// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The controller of the tick loop without a controller manager: what it refuses, its lifecycle, and what acts when.
//
// A node of this process is the source; each wait is for a condition.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "haptic_hardware/device_controller.hpp"

namespace haptic_hardware
{
namespace
{

using hardware_interface::CommandInterface;
using hardware_interface::StateInterface;
using CallbackReturn = controller_interface::CallbackReturn;
using Parameters = std::map<std::string, rclcpp::Parameter>;
using Values = std::vector<std::pair<std::string, std::string>>;

constexpr auto longest_wait = std::chrono::minutes(5);  // ends what hangs

template<class Interface>
std::shared_ptr<Interface> make_interface(const std::string & name)
{
  const auto end = name.find('/');
  hardware_interface::InterfaceInfo info;
  info.name = name.substr(end + 1);
  info.data_type = "double";
  info.initial_value = "0.0";
  return std::make_shared<Interface>(hardware_interface::InterfaceDescription(name.substr(0, end), info));
}

bool has(const TickEvent & event, const std::string & key, const std::string & value)
{
  return std::any_of(
    event.values.begin(), event.values.end(),
    [&](const auto & entry) {return entry.key == key && entry.value == value;});
}

/// Answers the ticks with an effort until it is silent.
class Source
{
public:
  Source(const std::string & name, const std::string & space, const std::string & mode)
  : node(std::make_shared<rclcpp::Node>(name, space))
  {
    const auto latched = rclcpp::QoS(1000).reliable().transient_local();
    events_ = node->create_publisher<TickEvent>("tick_event", latched);
    commands_ = node->create_publisher<DeviceCommand>("device_command", rclcpp::QoS(10).reliable());
    event_subscription_ = node->create_subscription<TickEvent>(
      "tick_event", latched, [this](const TickEvent & event) {
        if (event.source == "device") {events.push_back(event);}
      });
    state_subscription_ = node->create_subscription<DeviceState>(
      "device_state", rclcpp::QoS(5000).reliable(), [this](const DeviceState & state) {answer(state);});
    announce(mode);
  }

  /// Says that the source is active.
  void announce(const std::string & mode)
  {
    TickEvent event;
    event.source = node->get_name();
    event.kind = TickEvent::KIND_STATE;
    event.values.resize(2);
    event.values[0].key = "mode";
    event.values[0].value = mode;
    event.values[1].key = "state";
    event.values[1].value = "active";
    events_->publish(event);
  }

  /// The value of the first event of the device of this kind that has the key; empty: there is none.
  std::string value(const std::string & kind, const std::string & key) const
  {
    for (const auto & event : events) {
      for (const auto & entry : event.values) {
        if (event.kind == kind && entry.key == key) {return entry.value;}
      }
    }
    return "";
  }

  std::shared_ptr<rclcpp::Node> node;
  std::vector<TickEvent> events;
  std::vector<DeviceState> states;
  bool silent = false;

private:
  void answer(const DeviceState & state)
  {
    states.push_back(state);
    if (silent) {return;}
    DeviceCommand command;
    command.tick = state.tick;
    command.source = node->get_name();
    command.mode = DeviceCommand::MODE_EFFORT;
    command.joint_effort = {0.1, -0.2};
    commands_->publish(command);
  }

  rclcpp::Publisher<TickEvent>::SharedPtr events_;
  rclcpp::Publisher<DeviceCommand>::SharedPtr commands_;
  rclcpp::Subscription<TickEvent>::SharedPtr event_subscription_;
  rclcpp::Subscription<DeviceState>::SharedPtr state_subscription_;
};

class DeviceControllerTest : public ::testing::Test
{
protected:
  static void SetUpTestSuite() {rclcpp::init(0, nullptr);}
  static void TearDownTestSuite() {rclcpp::shutdown();}

  void SetUp() override
  {
    static int count = 0;
    space_ = "/rig_" + std::to_string(count++);
    auto name = (std::filesystem::temp_directory_path() / "rig_XXXXXX").string();
    directory_ = mkdtemp(name.data());
    setenv("HAPTICS_RUN_DIRECTORY", directory_.c_str(), 1);
  }

  void TearDown() override
  {
    controller_.reset();
    std::filesystem::remove_all(directory_);
  }

  /// Configures a new controller as the controller manager does; returns the state in which it is then.
  std::string configure(const std::vector<rclcpp::Parameter> & changes = {})
  {
    Parameters parameters{
      {"hardware", {"hardware", "rig"}},
      {"joints", {"joints", std::vector<std::string>{"a", "b"}}},
      {"sources", {"sources", std::vector<std::string>{"source"}}},
      {"watchdog_periods", {"watchdog_periods", 2000}},
    };
    for (const auto & change : changes) {parameters[change.get_name()] = change;}
    std::vector<rclcpp::Parameter> overrides;
    for (const auto & [name, parameter] : parameters) {overrides.push_back(parameter);}
    controller_ = std::make_unique<DeviceController>();
    EXPECT_EQ(
      controller_->init("device", "", 1000, space_, rclcpp::NodeOptions().parameter_overrides(overrides)),
      controller_interface::return_type::OK);
    return controller_->configure().label();
  }

  CallbackReturn activate()
  {
    std::vector<hardware_interface::LoanedStateInterface> states;
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    for (const auto & name : controller_->state_interface_configuration().names) {
      states_[name] = make_interface<StateInterface>(name);
      states.emplace_back(states_[name], nullptr);
    }
    for (const auto & name : controller_->command_interface_configuration().names) {
      auto & interface = commands_[name];
      if (!interface) {interface = make_interface<CommandInterface>(name);}
      commands.emplace_back(interface, nullptr);
    }
    controller_->assign_interfaces(std::move(commands), std::move(states));
    return controller_->on_activate(rclcpp_lifecycle::State());
  }

  CallbackReturn deactivate()
  {
    const auto result = controller_->on_deactivate(rclcpp_lifecycle::State());
    controller_->release_interfaces();
    return result;
  }

  double command(const std::string & name) {return commands_.at(name)->get_optional().value();}

  void update(double period = 1e-3)
  {
    controller_->update(rclcpp::Time(0, 0, RCL_SYSTEM_TIME), rclcpp::Duration::from_seconds(period));
  }

  /// Lets the loop go on until the condition holds; returns false if it never does.
  bool run_until(const std::vector<Source *> & sources, const std::function<bool()> & condition)
  {
    rclcpp::executors::SingleThreadedExecutor executor;
    for (const auto * source : sources) {executor.add_node(source->node);}
    const auto end = std::chrono::steady_clock::now() + longest_wait;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {return false;}
      update();
      executor.spin_some();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  /// Serves a source until the condition holds, without updates; returns false if it never does.
  bool spin_until(const Source & source, const std::function<bool()> & condition)
  {
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_node(source.node);
    const auto end = std::chrono::steady_clock::now() + longest_wait;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {return false;}
      executor.spin_once(std::chrono::milliseconds(10));
    }
    return true;
  }

  std::string space_, directory_;
  std::unique_ptr<DeviceController> controller_;
  std::map<std::string, std::shared_ptr<StateInterface>> states_;
  std::map<std::string, std::shared_ptr<CommandInterface>> commands_;
};

using Texts = std::vector<std::string>;

TEST_F(DeviceControllerTest, ParametersThatCannotBeUsedAreRefused)
{
  EXPECT_EQ(configure(), "inactive");
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<rclcpp::Parameter> refused{
    {"hardware", ""}, {"kind", "scripted"}, {"joints", Texts(13, "joint")}, {"passive_joints", Texts(13, "joint")},
    {"sources", Texts(9, "source")}, {"watchdog_periods", 0}, {"ticks", -1}, {"display_rate", 0.0},
    {"detail", Texts{"no value"}}, {"detail", Texts{"=no path"}}, {"answer_timeout", 0.0}, {"answer_timeout", infinite},
    {"activation_timeout", 0.0}, {"activation_timeout", 3601.0}, {"activation_timeout", infinite},
    {"activation_timeout", std::nan("")}};
  for (const auto & parameter : refused) {
    EXPECT_EQ(configure({parameter}), "unconfigured") << parameter.get_name();
  }
}

TEST_F(DeviceControllerTest, ARefusedControllerCanBeConfiguredWithOtherParameters)
{
  ASSERT_EQ(configure({{"watchdog_periods", 0}}), "unconfigured");
  EXPECT_EQ(controller_->on_error(rclcpp_lifecycle::State()), CallbackReturn::SUCCESS);
  controller_->get_node()->set_parameter({"watchdog_periods", 20});
  EXPECT_EQ(controller_->configure().label(), "inactive");
  EXPECT_EQ(controller_->on_error(rclcpp_lifecycle::State()), CallbackReturn::SUCCESS);
}

TEST_F(DeviceControllerTest, ClaimsTheInterfacesOfItsKind)
{
  ASSERT_EQ(configure(), "inactive");
  EXPECT_EQ(
    controller_->command_interface_configuration().names,
    (Texts{"rig_loop/run", "rig_loop/resets", "a/effort", "b/effort", "rig_tool/force.x", "rig_tool/force.y",
      "rig_tool/force.z", "rig_tool/torque.x", "rig_tool/torque.y", "rig_tool/torque.z"}));
  const auto measured = controller_->state_interface_configuration().names.size();
  ASSERT_EQ(configure({{"kind", "admittance"}, {"simulated", true}}), "inactive");
  EXPECT_EQ(controller_->command_interface_configuration().names.size(), 2u + 2u + 7u + 12u + 4u);
  EXPECT_EQ(controller_->state_interface_configuration().names.size(), measured + 3u * 2u + 26u);
}

TEST_F(DeviceControllerTest, WithoutSourcesNothingActsAndEachActivationIsANewBeginning)
{
  ASSERT_EQ(configure(), "inactive");
  for (const double resets : {1.0, 2.0}) {
    ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
    for (int i = 0; i < 50; ++i) {update();}
    EXPECT_EQ(command("rig_loop/run"), 0.0);
    EXPECT_EQ(command("rig_loop/resets"), resets);
    EXPECT_EQ(command("a/effort"), 0.0);
    EXPECT_EQ(deactivate(), CallbackReturn::SUCCESS);
  }
}

TEST_F(DeviceControllerTest, AnActivationThatEndsAtOnceEndsItsThreads)
{
  ASSERT_EQ(configure(), "inactive");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
    ASSERT_EQ(deactivate(), CallbackReturn::SUCCESS);
  }
}

TEST_F(DeviceControllerTest, AfterAPauseTheTicksGoOnWithTheSourcesThatAreActive)
{
  ASSERT_EQ(configure(), "inactive");
  Source source("source", space_, "EFFORT");
  for (int pause = 0; pause < 3; ++pause) {
    ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
    EXPECT_EQ(command("rig_loop/run"), 0.0);
    EXPECT_EQ(command("rig_loop/resets"), 1.0 + pause);
    ASSERT_TRUE(run_until({&source}, [&] {return command("a/effort") != 0.0;}));
    EXPECT_EQ(command("a/effort"), 0.1);
    EXPECT_EQ(deactivate(), CallbackReturn::SUCCESS);
    EXPECT_EQ(command("a/effort"), 0.0);
    const auto ended = [&] {
        return std::count_if(
          source.events.begin(), source.events.end(), [](const auto & event) {return has(event, "state", "inactive");});
      };
    ASSERT_TRUE(spin_until(source, [&] {return ended() == pause + 1;}));
    const auto all_came = [&] {return has(source.events.back(), "ticks", std::to_string(source.states.size()));};
    ASSERT_TRUE(spin_until(source, all_came));
  }
  ASSERT_GT(source.states.size(), 5u);
  for (std::size_t tick = 0; tick < source.states.size(); ++tick) {EXPECT_EQ(source.states[tick].tick, tick);}
}

TEST_F(DeviceControllerTest, ARunThatIsOverBeginsAnewWithTick0)
{
  ASSERT_EQ(configure({{"ticks", 4}}), "inactive");
  Source source("source", space_, "EFFORT");
  for (std::size_t run = 1; run <= 2; ++run) {
    ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
    ASSERT_TRUE(run_until({&source}, [&] {return source.states.size() == 4 * run;}));
    EXPECT_EQ(source.states.back().tick, 3u);
    deactivate();
  }
  EXPECT_EQ(source.states.at(4).tick, 0u);
}

TEST_F(DeviceControllerTest, UpdatesThatMakeUpForLostPeriodsOpenNoTick)
{
  ASSERT_EQ(configure(), "inactive");
  Source source("source", space_, "EFFORT");
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  ASSERT_TRUE(run_until({&source}, [&] {return command("rig_loop/run") == 1.0;}));  // tick 0 is answered, 1 is open
  update(5e-3);  // the third tick
  for (int i = 0; i < 4; ++i) {update(0.0);}
  update();
  deactivate();
  ASSERT_TRUE(spin_until(source, [&] {return !source.value("state", "ticks").empty();}));
  EXPECT_EQ(source.value("state", "ticks"), "4");
  EXPECT_GE(std::stoi(source.value("state", "missed")), 4);
}

TEST_F(DeviceControllerTest, WithoutAnAnswerToTheFirstTickTheDeviceIsSafeAndTheRunFails)
{
  ASSERT_EQ(configure({{"answer_timeout", 0.1}}), "inactive");
  Source source("source", space_, "EFFORT");
  source.silent = true;
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  bool stopped = false;
  ASSERT_TRUE(
    run_until(
      {&source}, [&] {
        stopped |= command("rig_loop/run") == 2.0;
        return !source.value("state", "reason").empty();
      }));
  EXPECT_EQ(source.value("state", "reason"), "source source: no answer to tick 0 within 0.1 s");
  EXPECT_TRUE(stopped);
  for (int i = 0; i < 20; ++i) {update();}
  EXPECT_EQ(command("a/effort"), 0.0);
  EXPECT_NE(command("rig_loop/run"), 1.0);
  deactivate();
  source.silent = false;
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  EXPECT_TRUE(run_until({&source}, [&] {return command("a/effort") == 0.1;}));
  deactivate();
}

TEST_F(DeviceControllerTest, InterfacesOfAnotherOrderAreRefused)
{
  ASSERT_EQ(configure(), "inactive");
  std::vector<hardware_interface::LoanedStateInterface> states;
  std::vector<hardware_interface::LoanedCommandInterface> commands;
  auto names = controller_->state_interface_configuration().names;
  std::swap(names[0], names[1]);
  for (const auto & name : names) {states.emplace_back(make_interface<StateInterface>(name), nullptr);}
  for (const auto & name : controller_->command_interface_configuration().names) {
    commands.emplace_back(make_interface<CommandInterface>(name), nullptr);
  }
  controller_->assign_interfaces(std::move(commands), std::move(states));
  EXPECT_EQ(controller_->on_activate(rclcpp_lifecycle::State()), CallbackReturn::ERROR);
}

TEST_F(DeviceControllerTest, ModesThatCannotBeCombinedAreRefusedAtTheStart)
{
  ASSERT_EQ(configure({{"sources", Texts{"one", "two"}}}), "inactive");
  Source one("one", space_, "EFFORT"), two("two", space_, "MOTION");
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  ASSERT_TRUE(run_until({&one, &two}, [&] {return !one.value("state", "reason").empty();}));
  EXPECT_EQ(one.value("state", "reason"), "sources two (MOTION) and one (EFFORT): motion and force cannot be combined");
  EXPECT_TRUE(one.states.empty() && two.states.empty());
  EXPECT_EQ(command("rig_loop/run"), 0.0);
  deactivate();
}

TEST_F(DeviceControllerTest, ASilentSourceBringsTheDeviceToItsSafeState)
{
  ASSERT_EQ(configure({{"detail", Texts{"parameters/device=rig", "simulated=false"}}}), "inactive");
  Source source("source", space_, "EFFORT");
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  ASSERT_TRUE(run_until({&source}, [&] {return command("a/effort") != 0.0;}));
  EXPECT_EQ(command("rig_loop/run"), 1.0);
  EXPECT_EQ(command("a/effort"), 0.1);
  EXPECT_EQ(command("b/effort"), -0.2);
  EXPECT_EQ(source.value("state", "parameters/device"), "rig");
  source.silent = true;
  ASSERT_TRUE(run_until({&source}, [&] {return !source.value("error", "reason").empty();}));
  EXPECT_EQ(source.value("error", "reason"), "source source: silent for 2000 ticks");
  EXPECT_EQ(command("rig_loop/run"), 2.0);
  EXPECT_EQ(command("a/effort"), 0.0);
  for (std::size_t tick = 0; tick < source.states.size(); ++tick) {EXPECT_EQ(source.states[tick].tick, tick);}
  deactivate();
  controller_.reset();  // waits for the file
  const std::filesystem::path file = source.value("error", "flight_record");
  EXPECT_EQ(file.parent_path(), std::filesystem::path(directory_) / "flight_records");
  EXPECT_EQ(file.filename().string().rfind(space_.substr(1) + ".device-tick-", 0), 0u);
  EXPECT_GT(std::filesystem::file_size(file), 2000 * sizeof(FlightRow));
  EXPECT_EQ(source.value("error", "longest_tick").rfind("tick ", 0), 0u);
}

TEST_F(DeviceControllerTest, TheCommandsOfASourceThatStartsAnewAreRampedIn)
{
  ASSERT_EQ(configure(), "inactive");
  Source source("source", space_, "EFFORT");
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  ASSERT_TRUE(run_until({&source}, [&] {return command("a/effort") != 0.0;}));
  EXPECT_EQ(command("rig_loop/run"), 1.0);
  source.announce("EFFORT");
  ASSERT_TRUE(run_until({&source}, [&] {return command("rig_loop/run") == 3.0;}));
  update();  // for one period
  EXPECT_EQ(command("rig_loop/run"), 1.0);
  deactivate();
}

TEST_F(DeviceControllerTest, LimitsThatTheHardwareReportsAreCounted)
{
  ASSERT_EQ(configure(), "inactive");
  Source source("source", space_, "EFFORT");
  ASSERT_EQ(activate(), CallbackReturn::SUCCESS);
  (void)states_.at("rig_loop/limited")->set_value(static_cast<double>(DeviceState::LIMITED_EFFORT));
  ASSERT_TRUE(run_until({&source}, [&] {return !source.value("limit", "limited/effort").empty();}));
  EXPECT_EQ(source.value("limit", "limited/effort"), "1");
  EXPECT_EQ(source.value("limit", "limited/velocity"), "");
  EXPECT_EQ(source.states.at(0).limited, DeviceState::LIMITED_EFFORT);
  deactivate();
}

}  // namespace
}  // namespace haptic_hardware
