// Reference sketch of the serial protocol of drivers/hapkit.py, for a Hapkit board (ATmega328, 16 MHz).
//
// Each millisecond the sketch reads the sensor and sends the state. It sets the motor when a valid command comes, and
// turns it off when none has come for 20 ms. Numbers of the mechanism are those of a Hapkit 3.0; measure your own.

#include <math.h>
#include <stdint.h>
#include <string.h>

const uint8_t VERSION = 1;
const uint32_t BAUD = 500000;
const uint32_t PERIOD_US = 1000;    // between two states
const uint32_t WATCHDOG_US = 20000; // longest time without a command

// board
const int PWM_PIN = 5, DIRECTION_PIN = 8, SENSOR_PIN = A2;

// mechanism
const float HANDLE_RADIUS = 0.075f;     // m, from the sector's axis to the handle
const float SECTOR_RADIUS = 0.074f;     // m, where the capstan drives the sector
const float PULLEY_RADIUS = 0.0048f;    // m, of the capstan on the motor
const float DEGREES_PER_COUNT = 0.013f; // of the sector, by a protractor: turn it by 30 degrees and count
const float MOTOR_TORQUE = 0.018f;      // N m at full voltage
const int SENSOR_SPAN = 980;            // counts between two jumps of the sensor

const float VELOCITY_CUTOFF = 60.0f; // Hz, filter on the difference of positions

enum { MOTOR_ON = 1, WATCHDOG = 2 };

int lastReading;
long counts;
float position, velocity;
uint16_t counter;
bool motorOn, tripped;
uint32_t lastState, lastCommand;
uint8_t received[9];
uint8_t length;

uint8_t crc8(const uint8_t *data, uint8_t size) {
  uint8_t crc = 0;
  while (size--) {
    crc ^= *data++;
    for (uint8_t bit = 0; bit < 8; bit++) crc = crc & 0x80 ? (uint8_t)(crc << 1 ^ 0x07) : (uint8_t)(crc << 1);
  }
  return crc;
}

void setForce(float force) {
  // a DC motor without current control: voltage stands for torque, which is right while the handle is slow
  float torque = force * HANDLE_RADIUS * PULLEY_RADIUS / SECTOR_RADIUS;
  float duty = fabs(torque) / MOTOR_TORQUE;
  digitalWrite(DIRECTION_PIN, torque >= 0.0f ? HIGH : LOW);
  analogWrite(PWM_PIN, duty >= 1.0f ? 255 : (int)(255.0f * duty));
}

void sense() {
  int reading = analogRead(SENSOR_PIN), step = reading - lastReading;
  lastReading = reading;
  if (step > SENSOR_SPAN / 2) step -= SENSOR_SPAN;
  if (step < -SENSOR_SPAN / 2) step += SENSOR_SPAN;
  counts += step;
  float now = HANDLE_RADIUS * DEGREES_PER_COUNT * (float)M_PI / 180.0f * counts;
  float share = 2.0f * (float)M_PI * VELOCITY_CUTOFF * 1e-6f * PERIOD_US;
  velocity += share / (1.0f + share) * ((now - position) * 1e6f / PERIOD_US - velocity);
  position = now;
}

void sendState() {
  uint8_t message[15] = {0xA5, 0x5A, VERSION, (uint8_t)((motorOn ? MOTOR_ON : 0) | (tripped ? WATCHDOG : 0))};
  memcpy(message + 4, &counter, 2);
  memcpy(message + 6, &position, 4);
  memcpy(message + 10, &velocity, 4);
  message[14] = crc8(message + 2, 12);
  Serial.write(message, sizeof message);
  counter++;
}

void takeCommand() {
  float force;
  memcpy(&force, received + 4, 4);
  motorOn = received[3] & MOTOR_ON;
  tripped = false;
  lastCommand = micros();
  setForce(motorOn && isfinite(force) ? force : 0.0f);
}

void receive() {
  while (Serial.available() > 0) {
    uint8_t byte = (uint8_t)Serial.read();
    received[length++] = byte;
    if ((length == 1 && byte != 0xA5) || (length == 2 && byte != 0x5A)) {
      length = byte == 0xA5;
      received[0] = byte;
    }
    if (length < sizeof received) continue;
    length = 0;
    if (received[2] == VERSION && crc8(received + 2, 6) == received[8]) takeCommand();
  }
}

void setup() {
  pinMode(PWM_PIN, OUTPUT);
  pinMode(DIRECTION_PIN, OUTPUT);
  pinMode(SENSOR_PIN, INPUT);
  setForce(0.0f);
  Serial.begin(BAUD);
  lastReading = analogRead(SENSOR_PIN);
  lastState = micros();
}

void loop() {
  receive();
  uint32_t now = micros();
  if (motorOn && now - lastCommand > WATCHDOG_US) {
    motorOn = false;
    tripped = true;
    setForce(0.0f);
  }
  if (now - lastState >= PERIOD_US) {
    lastState += PERIOD_US;
    sense();
    sendState();
  }
}
