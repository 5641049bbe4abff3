/* Emulates the functions of Force Dimension's DHD library that the driver calls, with a free mass as the device: each
   reading of the position lets a millisecond pass. Functions emulator_* belong to the tests. */
#include <math.h>
#include <string.h>

static const double PERIOD = 1e-3, MASS = 0.25;
static double position[3], velocity[3], force[3];
static int enabled, opened, gravity, wrist, major = 3, devices = 1, power = 1, calibrated = 1, serial;
static char broken[64];

static int answer(const char *name) { return strcmp(name, broken) == 0 ? -1 : 0; }
static int answer_of(const char *name, char id) { return id == 2 && opened ? answer(name) : -1; }

void emulator_reset(void) {
  for (int i = 0; i < 3; i++) position[i] = velocity[i] = force[i] = 0.0;
  enabled = opened = gravity = wrist = serial = 0;
  major = 3, devices = power = calibrated = 1;
  broken[0] = 0;
}
void emulator_break(const char *name) { strncpy(broken, name, sizeof broken - 1); }
void emulator_place(double x, double y, double z) { position[0] = x, position[1] = y, position[2] = z; }
void emulator_set(int sdk, int count, int has_power, int is_calibrated, int has_wrist) {
  major = sdk, devices = count, power = has_power, calibrated = is_calibrated, wrist = has_wrist;
}
int emulator_enabled(void) { return enabled; }
int emulator_opened(void) { return opened; }
int emulator_gravity(void) { return gravity; }
int emulator_serial(void) { return serial; }
void emulator_force(double *f) { memcpy(f, force, sizeof force); }

void dhdGetSDKVersion(int *a, int *b, int *c, int *d) { *a = major, *b = 17, *c = 1, *d = 0; }
int dhdGetDeviceCount(void) { return devices; }
int dhdOpen(void) { opened = devices > 0 && answer("dhdOpen") == 0; return opened ? 2 : -1; }
int dhdOpenSerial(int number) { serial = number; return dhdOpen(); }
int dhdClose(char id) { int code = answer_of("dhdClose", id); opened = 0; return code; }
int dhdGetStatus(int status[16], char id) {
  memset(status, 0, 16 * sizeof *status);
  status[0] = power, status[1] = 1, status[3] = calibrated, status[5] = enabled;
  return answer_of("dhdGetStatus", id);
}
_Bool dhdHasWrist(char id) { return id == 2 && wrist; }
int dhdSetGravityCompensation(int on, char id) { gravity = on; return answer_of("dhdSetGravityCompensation", id); }
int dhdEnableForce(unsigned char on, char id) { enabled = on; return answer_of("dhdEnableForce", id); }
int dhdGetPosition(double *x, double *y, double *z, char id) {
  for (int i = 0; i < 3 && enabled; i++) {
    velocity[i] += PERIOD / MASS * force[i];
    position[i] += PERIOD * velocity[i];
  }
  *x = position[0], *y = position[1], *z = position[2];
  return answer_of("dhdGetPosition", id);
}
int dhdGetLinearVelocity(double *x, double *y, double *z, char id) {
  *x = velocity[0], *y = velocity[1], *z = velocity[2];
  return answer_of("dhdGetLinearVelocity", id);
}
int dhdGetAngularVelocityRad(double *x, double *y, double *z, char id) {
  *x = 1.0, *y = 2.0, *z = 3.0;
  return answer_of("dhdGetAngularVelocityRad", id);
}
int dhdGetOrientationFrame(double matrix[3][3], char id) { /* a quarter turn about the SDK's x axis */
  static const double turned[3][3] = {{1, 0, 0}, {0, 0, -1}, {0, 1, 0}};
  memcpy(matrix, turned, sizeof turned);
  return answer_of("dhdGetOrientationFrame", id);
}
unsigned int dhdGetButtonMask(char id) { return id == 2 && enabled ? 0x80000001u : 0u; }
int dhdSetForce(double x, double y, double z, char id) {
  force[0] = x, force[1] = y, force[2] = z;
  return answer_of("dhdSetForce", id) < 0 ? -1 : 1; /* DHD_TIMEGUARD is no failure */
}
const char *dhdGetSystemName(char id) { return id == 2 || id == -1 ? "omega.3" : 0; }
const char *dhdErrorGetLastStr(void) { return "no communication"; }
