// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// ros2_control hardware that hosts a device written in Python: CPython in the controller manager's process.
//
// The device is a haptic_devices.control.hosted.HostedDevice. Its NumPy arrays are read and written in place; a cycle
// calls its `read` and `write` and makes nothing of its own. Python's lock is held for these calls only.

#include <dlfcn.h>
#include <pybind11/embed.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "haptic_hardware/tick_loop.hpp"
#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_return_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

namespace py = pybind11;

namespace haptic_hardware
{
namespace
{

/// Starts Python once for the process; it stays, since NumPy cannot be loaded a second time.
void start_python(std::string program)
{
  static std::mutex mutex;
  const std::lock_guard<std::mutex> guard(mutex);
  if (!program.empty() && !std::filesystem::exists(program)) {
    throw std::runtime_error("parameter python: expected a Python program, got " + program);
  }
  if (Py_IsInitialized()) {return;}
  if (const char * environment = std::getenv("VIRTUAL_ENV"); program.empty() && environment) {
    program = std::string(environment) + "/bin/python3";
  }
  setenv("_ROS_WHEELS_BOOTSTRAP_COMPLETE", "1", 0);  // ROS 2 wheels start Python anew to set its library path
  // extension modules (NumPy's) expect Python's symbols in the whole process; a plugin's libraries are its own
  Dl_info library;
  if (dladdr(reinterpret_cast<void *>(&Py_IsInitialized), &library)) {
    dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  config.parse_argv = 0;
  PyStatus status = PyStatus_Ok();
  if (std::filesystem::exists(program)) {  // Python finds the packages of the environment that this program belongs to
    status = PyConfig_SetBytesString(&config, &config.program_name, program.c_str());
  }
  if (!PyStatus_Exception(status)) {status = Py_InitializeFromConfig(&config);}
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    const std::string reason = status.err_msg ? status.err_msg : "no reason given";
    throw std::runtime_error("Python does not start: " + reason);
  }
  PyEval_SaveThread();
}

/// Python's lock. A thread's state is made at its first use and kept, so that a cycle does not allocate one.
/// Not recursive.
class Lock
{
public:
  Lock()
  {
    PyThreadState * state = PyGILState_GetThisThreadState();
    PyEval_RestoreThread(state ? state : PyThreadState_New(PyInterpreterState_Main()));
  }
  ~Lock() {PyEval_SaveThread();}
  Lock(const Lock &) = delete;
  Lock & operator=(const Lock &) = delete;
};

/// The Python side; to be made, used and destroyed under the lock.
struct Host
{
  py::object device, read, write;
  std::vector<py::array_t<double>> arrays;  // keep the memory that `states` and `commands` point to
  std::vector<std::pair<hardware_interface::StateInterface::SharedPtr, const double *>> states;
  std::vector<std::pair<hardware_interface::CommandInterface::SharedPtr, double *>> commands;
  double * first_command = nullptr;
  const double * status = nullptr;
  bool follows = false;
  std::size_t joints = 0;
};

}  // namespace

class PythonDevice : public hardware_interface::SystemInterface
{
public:
  using Return = hardware_interface::return_type;

  ~PythonDevice() override {close();}

  CallbackReturn on_init(const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) {return CallbackReturn::ERROR;}
    try {
      const auto & given = get_hardware_info().hardware_parameters;
      const auto program = given.find("python");
      start_python(program == given.end() ? "" : program->second);
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    close();
    return guarded("configure", [this] {open();});
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    failed_ = false;
    last_status_ = 0.0;
    times_.clear();
    return guarded("activate", [this] {host_->device.attr("activate")();});
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    RCLCPP_INFO(
      get_logger(), "%zu cycles, read and write together p50 %.0f, p99 %.0f, max %.0f us", times_.count(),
      1e6 * times_.percentile(50), 1e6 * times_.percentile(99), 1e6 * times_.percentile(100));
    return guarded("deactivate", [this] {host_->device.attr("deactivate")();});
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override
  {
    close();
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_shutdown(const rclcpp_lifecycle::State &) override
  {
    close();
    return CallbackReturn::SUCCESS;
  }

  /// After a Python exception: the device is safe already, and has to be configured again.
  CallbackReturn on_error(const rclcpp_lifecycle::State &) override
  {
    close();
    return CallbackReturn::SUCCESS;
  }

  Return read(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    const auto start = std::chrono::steady_clock::now();
    if (!call("read")) {return Return::ERROR;}
    for (const auto & [interface, value] : host_->states) {set_state(interface, *value, false);}
    if (*host_->status != last_status_) {tell_status();}
    read_time_ = std::chrono::steady_clock::now() - start;
    return Return::OK;
  }

  Return write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    const auto start = std::chrono::steady_clock::now();
    for (const auto & [interface, value] : host_->commands) {get_command(interface, *value, false);}
    settle(host_->first_command, host_->joints, host_->follows);
    if (!call("write")) {return Return::ERROR;}
    times_.add(std::chrono::duration<double>(read_time_ + (std::chrono::steady_clock::now() - start)).count());
    return Return::OK;
  }

private:
  /// Makes the Python device and finds the place of every interface in its arrays.
  void open()
  {
    const auto & info = get_hardware_info();
    std::map<std::string, std::string> parameters(info.hardware_parameters.begin(), info.hardware_parameters.end());
    parameters.erase("python");
    if (info.rw_rate > 0) {  // the controller manager's rate, unless the URDF has one
      std::ostringstream period;
      period << std::setprecision(17) << 1.0 / info.rw_rate;
      const auto given = parameters.emplace("period", period.str()).first->second;
      if (std::abs(std::strtod(given.c_str(), nullptr) * info.rw_rate - 1.0) > 1e-6) {
        throw std::runtime_error("parameter period: expected 1/rate, " + period.str() + " s, got " + given);
      }
    }
    auto host = std::make_unique<Host>();
    host->device = py::module_::import("haptic_devices.control.hosted").attr("HostedDevice")(info.name, parameters);
    host->read = host->device.attr("read");
    host->write = host->device.attr("write");
    host->follows = py::str(host->device.attr("device").attr("kind")).cast<std::string>() == "admittance";
    host->joints = py::len(host->device.attr("device").attr("joints"));
    std::map<std::string, double *> places;
    const auto add = [&](const py::handle & names, const py::list & arrays) {
        auto name = names.begin();
        for (const auto & item : arrays) {
          auto array = py::cast<py::array_t<double>>(item);
          if (!array.is(item)) {throw std::runtime_error("the device's arrays: expected float64");}
          for (py::ssize_t i = 0; i < array.size(); ++i, ++name) {
            places[name->cast<std::string>()] = array.mutable_data(0) + i;
          }
          host->arrays.push_back(array);
        }
      };
    add(host->device.attr("state_names"), host->device.attr("states"));
    for (const auto & component : {info.joints, info.sensors, info.gpios}) {
      for (const auto & part : component) {
        for (const auto & state : part.state_interfaces) {
          const auto name = part.name + "/" + state.name;
          host->states.emplace_back(get_state_interface_handle(name), place(places, name));
        }
      }
    }
    host->status = place(places, info.name + "_loop/status");
    places.clear();
    py::list commands;
    commands.append(host->device.attr("commands"));
    add(host->device.attr("command_names"), commands);
    host->first_command = host->arrays.back().mutable_data(0);
    std::fill_n(host->first_command, host->arrays.back().size(), std::numeric_limits<double>::quiet_NaN());
    host->first_command[0] = run_idle;
    host->first_command[1] = 0.0;
    for (const auto & component : {info.joints, info.gpios}) {
      for (const auto & part : component) {
        for (const auto & command : part.command_interfaces) {
          const auto name = part.name + "/" + command.name;
          host->commands.emplace_back(get_command_interface_handle(name), place(places, name));
        }
      }
    }
    host_ = std::move(host);
  }

  static double * place(const std::map<std::string, double *> & places, const std::string & name)
  {
    const auto found = places.find(name);
    if (found == places.end()) {throw std::runtime_error("interface " + name + ": the device has none of this name");}
    return found->second;
  }

  /// Leaves the device safe and gives it back; whatever goes wrong with that is told.
  void close()
  {
    if (!host_) {return;}
    guarded("deactivate", [this] {host_->device.attr("deactivate")();});
    const Lock lock;
    host_.reset();
  }

  template<class Work>
  CallbackReturn guarded(const char * what, Work work)
  {
    const Lock lock;
    try {
      work();
    } catch (const py::error_already_set & error) {
      if (error.matches(py::module_::import("haptic_core.errors").attr("HapticError"))) {  // one clear line
        RCLCPP_ERROR(get_logger(), "%s refused: %s", what, py::str(error.value()).cast<std::string>().c_str());
      } else {
        tell(what, error);
      }
      return CallbackReturn::ERROR;
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_logger(), "%s refused: %s", what, error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  /// Calls `read` or `write`; after an exception the device is safe and false is returned.
  bool call(const char * what)
  {
    if (!host_ || failed_) {return false;}
    const Lock lock;
    PyObject * result = PyObject_CallNoArgs((what[0] == 'r' ? host_->read : host_->write).ptr());
    if (result) {
      Py_DECREF(result);
      return true;
    }
    failed_ = true;
    tell(what, py::error_already_set());
    try {
      host_->device.attr("device").attr("safe_stop")();
    } catch (const py::error_already_set & error) {
      tell("safe_stop", error);
    }
    return false;
  }

  /// Logs an exception with its traceback.
  void tell(const char * what, const py::error_already_set & error)
  {
    std::string text;
    try {
      if (error.trace()) {PyException_SetTraceback(error.value().ptr(), error.trace().ptr());}
      const auto hosted = py::module_::import("haptic_devices.control.hosted");
      text = hosted.attr("describe_error")(error.value()).cast<std::string>();
    } catch (const py::error_already_set &) {
      text = error.what();
    }
    RCLCPP_ERROR(get_logger(), "%s: the device's Python code failed, safe state\n%s", what, text.c_str());
  }

  void tell_status()
  {
    last_status_ = *host_->status;
    const Lock lock;
    const std::string reason = py::str(host_->device.attr("reason")).cast<std::string>();
    if (last_status_ == 0.0) {
      RCLCPP_INFO(get_logger(), "out of the safe state");
    } else {
      RCLCPP_ERROR(get_logger(), "safe state: %s", reason.c_str());
    }
  }

  std::unique_ptr<Host> host_;
  bool failed_ = false;
  double last_status_ = 0.0;
  Times times_;
  std::chrono::steady_clock::duration read_time_{};
};

}  // namespace haptic_hardware

PLUGINLIB_EXPORT_CLASS(haptic_hardware::PythonDevice, hardware_interface::SystemInterface)
