// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The C interface, called from Python (ctypes) and from compiled kernels (Numba). SI units, world frame; a pose is
// twelve numbers, the rotation matrix row by row and the position. No function throws.

#include <coal/narrowphase/support_functions.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "manifold.hpp"

#define CONVEX_CONTACT_API extern "C" __attribute__((visibility("default")))

using convex_contact::Kind;
using convex_contact::Manifold;
using convex_contact::ManifoldFinder;
using convex_contact::Shape;
using convex_contact::Vec3s;

namespace {

struct Context {
  std::vector<Shape> shapes;
  ManifoldFinder finder;
  Manifold manifold;
  std::string error;
};

coal::Transform3s pose(const double *p) {
  coal::Matrix3s rotation;
  rotation << p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8];
  return coal::Transform3s(rotation, Vec3s(p[9], p[10], p[11]));
}

template <typename... Arguments>
std::int64_t add(Context *context, Arguments... arguments) {
  try {
    context->shapes.emplace_back(arguments...);
    return static_cast<std::int64_t>(context->shapes.size()) - 1;
  } catch (const std::exception &error) {
    context->error = error.what();
  } catch (...) {
    context->error = "unknown error";
  }
  return -1;
}

// Coal 3.0.3 makes boxes larger by a share of 1e-10, or not, for the whole process: as the first direction in which it
// seeks a box's farthest point has a component that is zero, or not. Here it is asked once, when this library is
// loaded, so that results do not depend on what was simulated first.
template <int swept>
double ask_a_box() {
  int hint = 0;
  const coal::Box box(1, 1, 1);
  return coal::details::getSupport<swept>(&box, Vec3s(1, 2, 3), hint).sum();
}

[[maybe_unused]] const double asked = ask_a_box<coal::details::SupportOptions::NoSweptSphere>() +
                                      ask_a_box<coal::details::SupportOptions::WithSweptSphere>();

}  // namespace

CONVEX_CONTACT_API void *convex_contact_create() { return new (std::nothrow) Context; }

CONVEX_CONTACT_API void convex_contact_destroy(void *context) { delete static_cast<Context *>(context); }

CONVEX_CONTACT_API const char *convex_contact_error(const void *context) {
  return static_cast<const Context *>(context)->error.c_str();
}

// Adds a primitive with three parameters (see shapes.hpp). Returns the shape's number, or -1.
CONVEX_CONTACT_API std::int64_t convex_contact_add_primitive(void *context, std::int64_t kind,
                                                             const double *parameters) {
  return add(static_cast<Context *>(context), static_cast<Kind>(kind), parameters);
}

// Adds the convex hull of points (count, 3). Returns the shape's number, or -1.
CONVEX_CONTACT_API std::int64_t convex_contact_add_hull(void *context, std::int64_t count, const double *points) {
  return add(static_cast<Context *>(context), count, points);
}

CONVEX_CONTACT_API std::int64_t convex_contact_hull_size(const void *context, std::int64_t shape) {
  return static_cast<const Context *>(context)->shapes[shape].hull().num_points;
}

// The hull's vertices (n, 3), and its volume, centre (3) and inertia about the centre (9) at unit density.
CONVEX_CONTACT_API void convex_contact_hull(const void *context, std::int64_t shape, double *vertices,
                                            double *properties) {
  const auto &hull = static_cast<const Context *>(context)->shapes[shape].hull();
  for (unsigned int i = 0; i < hull.num_points; ++i) std::memcpy(vertices + 3 * i, (*hull.points)[i].data(), 3 * 8);
  const coal::Matrix3s inertia = hull.computeMomentofInertiaRelatedToCOM();
  const Vec3s center = hull.computeCOM();
  properties[0] = hull.computeVolume();
  std::memcpy(properties + 1, center.data(), 3 * 8);
  std::memcpy(properties + 4, inertia.data(), 9 * 8);  // symmetric
}

// The contact points of pairs of geometries.
//
//   pairs (n, 2): geometries; shapes (geometries): their shapes; poses (geometries, 12); reach (n): pairs farther
//   apart have no points, m. Out: start (n + 1): the points of pair i are start[i] .. start[i + 1]; normals (n, 3),
//   from the first geometry into the second; points (capacity, 3); gaps (capacity).
//
// Returns the number of points; larger than the capacity: only that many were written.
CONVEX_CONTACT_API std::int64_t convex_contact_manifolds(void *context, std::int64_t count, const std::int64_t *pairs,
                                                         const std::int64_t *shapes, const double *poses,
                                                         const double *reach, std::int64_t capacity,
                                                         std::int64_t *start, double *normals, double *points,
                                                         double *gaps) {
  auto &c = *static_cast<Context *>(context);
  std::int64_t total = 0;
  start[0] = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t a = pairs[2 * i], b = pairs[2 * i + 1];
    try {
      c.finder.find(c.shapes[shapes[a]], pose(poses + 12 * a), c.shapes[shapes[b]], pose(poses + 12 * b), reach[i],
                    c.manifold);
    } catch (const std::exception &error) {
      c.error = error.what();
      return -1;
    }
    std::memcpy(normals + 3 * i, c.manifold.normal.data(), 3 * 8);
    for (std::size_t j = 0; j < c.manifold.points.size(); ++j, ++total) {
      if (total >= capacity) continue;
      std::memcpy(points + 3 * total, c.manifold.points[j].data(), 3 * 8);
      gaps[total] = c.manifold.gaps[j];
    }
    start[i + 1] = total;
  }
  return total;
}
