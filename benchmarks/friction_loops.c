/* Hand-written loops of models A, B, C, D (Kikuuwe et al.) with Coulomb's law, as a measure of speed.
   N is the dimension, fixed when this is compiled; x holds n rows of inputs, y n rows of outputs. */
#include <math.h>

static inline int project(double Z, double F, const double *v, double *f) {
  double square = 0.0;
  for (int i = 0; i < N; i++) square += v[i] * v[i];
  const double speed = sqrt(square);
  if (speed <= Z * F) {
    for (int i = 0; i < N; i++) f[i] = v[i] / Z;
    return 1;
  }
  for (int i = 0; i < N; i++) f[i] = F / speed * v[i];
  return 0;
}

void loop_a(long n, double F, double M, double K, double B, double T, const double *x, double *y) {
  const double Z = T / M;
  double v[N] = {0}, f[N];
  for (long k = 0; k < n; k++) {
    for (int i = 0; i < N; i++) v[i] += Z * x[N * k + i];
    const int sticking = project(Z, F, v, f);
    for (int i = 0; i < N; i++) y[N * k + i] = v[i] = sticking ? 0.0 : v[i] - Z * f[i];
  }
}

void loop_b(long n, double F, double M, double K, double B, double T, const double *x, double *y) {
  const double C = M + T * B + T * T * K, Z = T / C;
  double u[N] = {0}, e[N] = {0}, e1[N] = {0}, v[N], f[N];
  for (long k = 0; k < n; k++) {
    for (int i = 0; i < N; i++)
      v[i] = x[N * k + i] + T * K / C * e[i] - M / C * (x[N * k + i] - u[i] + (e[i] - e1[i]) / T);
    const int sticking = project(Z, F, v, f);
    for (int i = 0; i < N; i++) {
      u[i] = x[N * k + i];
      const double rate = sticking ? u[i] : u[i] - (v[i] - Z * f[i]);
      e1[i] = e[i];
      e[i] += T * rate;
      y[N * k + i] = K * e[i] + B * rate;
    }
  }
}

void loop_c(long n, double F, double M, double K, double B, double T, const double *x, double *y) {
  const double Z = 1.0 / (B + T * K);
  double e[N] = {0}, v[N], f[N];
  for (long k = 0; k < n; k++) {
    for (int i = 0; i < N; i++) v[i] = x[N * k + i] + K * Z * e[i];
    const int sticking = project(Z, F, v, f);
    for (int i = 0; i < N; i++) {
      e[i] = sticking ? e[i] + T * x[N * k + i] : (B * e[i] + T * f[i]) * Z;
      y[N * k + i] = f[i];
    }
  }
}

void loop_d(long n, double F, double M, double K, double B, double T, const double *x, double *y) {
  const double contact = 1.0 / (B + T * K), A = T / M + contact;
  double u[N] = {0}, e[N] = {0}, v[N], f[N];
  for (long k = 0; k < n; k++) {
    for (int i = 0; i < N; i++) v[i] = u[i] + T / M * x[N * k + i] + K * contact * e[i];
    const int sticking = project(A, F, v, f);
    for (int i = 0; i < N; i++) {
      u[i] += T / M * (x[N * k + i] - f[i]);
      e[i] = sticking ? e[i] + T * u[i] : (B * e[i] + T * f[i]) * contact;
      y[N * k + i] = u[i];
    }
  }
}
