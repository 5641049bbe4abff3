// Runs the reference sketch on this machine: `hapkit_board FD` speaks through the file descriptor of a pseudo-terminal.
// The handle is a mass with a spring and a damper, moved by the force that the motor's duty stands for. It ends when its
// standard input does.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { LOW, HIGH, INPUT, OUTPUT, A2 = 16 };

static int terminal, duty, direction, raw;

static void pinMode(int, int) {}
static void digitalWrite(int, int value) { direction = value == HIGH ? 1 : -1; }
static void analogWrite(int, int value) { duty = value; }
static int analogRead(int) { return raw; }
static uint32_t micros() {
  using namespace std::chrono;
  return (uint32_t)duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

static struct {
  uint8_t next;
  void begin(uint32_t) {}
  int available() { return (int)::read(terminal, &next, 1) == 1; }
  int read() { return next; }
  void write(const uint8_t *data, size_t size) {
    if (::write(terminal, data, size) < 0) return; // as on the board: what finds no room is lost
  }
} Serial;

#include SKETCH

static const float MASS = 0.1f, SPRING = 50.0f, DAMPER = 5.0f; // kg, N/m, N s/m

int main(int, char **arguments) {
  terminal = std::atoi(arguments[1]);
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  float place = 0.0f, speed = 0.0f;
  setup();
  uint32_t last = micros();
  for (pollfd input = {0, POLLIN, 0}; poll(&input, 1, 0) == 0;) {
    loop();
    float step = std::fmin(1e-6f * (micros() - last), 1e-3f);
    last = micros();
    float force = direction * duty / 255.0f * MOTOR_TORQUE * SECTOR_RADIUS / (PULLEY_RADIUS * HANDLE_RADIUS);
    speed += step / MASS * (force - SPRING * place - DAMPER * speed);
    place += step * speed;
    long turned = std::lround(place / (HANDLE_RADIUS * DEGREES_PER_COUNT * (float)M_PI / 180.0f));
    raw = (int)(((turned % SENSOR_SPAN) + SENSOR_SPAN) % SENSOR_SPAN);
    usleep(200);
  }
}
