/* Emulates the functions of OpenHaptics' HDAPI that the driver calls, with a free mass as the device. The scheduler has
   no thread: emulator_tick calls the scheduled callback, and lets a millisecond pass. Functions emulator_* belong to
   the tests. Lengths are in mm, as HDAPI has them. */
#include <string.h>

typedef unsigned int (*Callback)(void *);
typedef struct { unsigned int code; int internal; unsigned int handle; } ErrorInfo;

static const double PERIOD = 1e-3, MASS = 0.25;
static double position[3], velocity[3], force[3], wanted[3];
static int enabled, scheduling, in_frame, opened, present = 1, calibrated = 1, buttons;
static unsigned int error;
static const char *version = "3.40.0";
static Callback scheduled;

void emulator_reset(void) {
  for (int i = 0; i < 3; i++) position[i] = velocity[i] = force[i] = wanted[i] = 0.0;
  enabled = scheduling = in_frame = opened = buttons = 0;
  present = calibrated = 1, error = 0, version = "3.40.0", scheduled = 0;
}
void emulator_set(int is_present, int is_calibrated, int pressed, const char *text) {
  present = is_present, calibrated = is_calibrated, buttons = pressed, version = text;
}
void emulator_place(double x, double y, double z) { position[0] = x, position[1] = y, position[2] = z; }
void emulator_fail(unsigned int code) { error = code; }
void emulator_force(double *f) { memcpy(f, force, sizeof force); }
int emulator_enabled(void) { return enabled; }
int emulator_opened(void) { return opened; }
void emulator_tick(void) {
  if (!scheduling || !scheduled) return;
  scheduled(0);
  for (int i = 0; i < 3; i++) {
    force[i] = enabled ? wanted[i] : 0.0;
    velocity[i] += 1e3 * PERIOD / MASS * force[i];
    position[i] += PERIOD * velocity[i];
  }
}

unsigned int hdInitDevice(const char *name) {
  opened = present && (!name || strcmp(name, "Left Device") == 0);
  if (!opened) error = 0x0302;
  return opened ? 7 : 0xFFFFFFFFu;
}
void hdDisableDevice(unsigned int handle) { opened = opened && handle != 7; }
ErrorInfo hdGetError(void) {
  ErrorInfo info = {error, 0, 7};
  error = 0;
  return info;
}
const char *hdGetErrorString(unsigned int code) { return code == 0x0302 ? "communication error" : "another error"; }
const char *hdGetString(unsigned int name) { return name == 0x2500 ? version : name == 0x2501 ? "Touch" : 0; }
unsigned int hdCheckCalibration(void) { return calibrated ? 0x5000 : 0x5001; }
void hdEnable(unsigned int name) { if (name == 0x4000) enabled = 1; }
void hdDisable(unsigned int name) { if (name == 0x4000) enabled = 0; }
void hdBeginFrame(unsigned int handle) { in_frame = handle == 7; }
void hdEndFrame(unsigned int handle) { in_frame = in_frame && handle != 7; }
void hdGetDoublev(unsigned int name, double *values) {
  static const double turned[16] = {1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1}; /* quarter turn about x, by columns */
  static const double spin[3] = {1, 2, 3};
  if (!in_frame) error = 0x0400;
  else if (name == 0x2050) memcpy(values, position, sizeof position);
  else if (name == 0x2051) memcpy(values, velocity, sizeof velocity);
  else if (name == 0x2052) memcpy(values, turned, sizeof turned);
  else if (name == 0x2053) memcpy(values, spin, sizeof spin);
  else error = 0x0100;
}
void hdGetIntegerv(unsigned int name, int *value) { if (name == 0x2000) *value = buttons; else error = 0x0100; }
void hdSetDoublev(unsigned int name, const double *values) {
  if (in_frame && name == 0x2700) memcpy(wanted, values, sizeof wanted); else error = 0x0400;
}
unsigned long hdScheduleAsynchronous(Callback callback, void *data, unsigned short priority) {
  (void)data, (void)priority;
  scheduled = callback;
  return 1;
}
void hdUnschedule(unsigned long handle) { if (handle == 1) scheduled = 0; }
void hdStartScheduler(void) { scheduling = 1; }
void hdStopScheduler(void) { scheduling = 0; }
