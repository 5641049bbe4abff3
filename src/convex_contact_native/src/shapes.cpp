// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.

#include "shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

namespace convex_contact {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A coordinate, counted positive the way the direction goes.
double along(double coordinate, double direction) { return direction < 0 ? -coordinate : coordinate; }

// Exit from a cylinder's lateral surface; of a ray that misses it, the place of closest approach.
double lateral_exit(double radius, const Vec3s &point, const Vec3s &direction) {
  const double a = direction.head<2>().squaredNorm();
  if (a <= kSteepest * kSteepest) return kNever;
  const double b = point.head<2>().dot(direction.head<2>());
  const double c = point.head<2>().squaredNorm() - radius * radius;
  return (std::sqrt(std::max(0.0, b * b - a * c)) - b) / a;
}

double sphere_exit(double radius, const Vec3s &point, const Vec3s &direction) {
  const double b = point.dot(direction);
  return std::sqrt(std::max(0.0, b * b - point.squaredNorm() + radius * radius)) - b;
}

double rim(const double *cylinder) { return kRim * std::min(cylinder[0], cylinder[1]); }

}  // namespace

Shape::Shape(Kind kind_, const double *p) : kind(kind_) {
  switch (kind) {
    case Kind::sphere:
      geometry = std::make_unique<coal::Sphere>(p[0]);
      size = Vec3s(p[0], 0, 0);
      thickness = 2 * p[0];
      break;
    case Kind::box:
      geometry = std::make_unique<coal::Box>(2 * p[0], 2 * p[1], 2 * p[2]);
      size = Vec3s(p[0], p[1], p[2]);
      thickness = 2 * size.minCoeff();
      break;
    case Kind::cylinder:
      geometry = std::make_unique<coal::Cylinder>(p[0], 2 * p[1]);
      core = std::make_unique<coal::Cylinder>(p[0] - rim(p), 2 * (p[1] - rim(p)));
      core->setSweptSphereRadius(rim(p));
      size = Vec3s(p[0], p[1], 0);
      thickness = 2 * std::min(p[0], p[1]);
      break;
    case Kind::capsule:
      geometry = std::make_unique<coal::Capsule>(p[0], 2 * p[1]);
      size = Vec3s(p[0], p[1], 0);
      thickness = 2 * p[0];
      break;
    default:
      throw std::invalid_argument("no such kind of shape");
  }
}

Shape::Shape(std::int64_t count, const double *points) : kind(Kind::hull), size(Vec3s::Zero()) {
  auto cloud = std::make_shared<std::vector<Vec3s>>();
  for (std::int64_t i = 0; i < count; ++i) cloud->emplace_back(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
  geometry.reset(coal::ConvexBase::convexHull(cloud, static_cast<unsigned int>(count), true, nullptr));
  thickness = kNever;
  for (unsigned int i = 0; i < hull().num_normals_and_offsets; ++i) {
    const Vec3s &normal = (*hull().normals)[i];
    thickness = std::min(thickness, support(normal) + support(-normal));
  }
}

double Shape::exit_height(const Vec3s &point, const Vec3s &direction) const {
  double height = kNever;
  switch (kind) {
    case Kind::sphere:
      return sphere_exit(size[0], point, direction);
    case Kind::box:
      for (int i = 0; i < 3; ++i) {
        const double slope = std::abs(direction[i]);
        if (slope > kSteepest) height = std::min(height, (size[i] - along(point[i], direction[i])) / slope);
      }
      return height;
    case Kind::cylinder: {
      const double slope = std::abs(direction[2]);
      if (slope > kSteepest) height = (size[1] - along(point[2], direction[2])) / slope;
      return std::min(height, lateral_exit(size[0], point, direction));
    }
    case Kind::capsule: {
      const double side = lateral_exit(size[0], point, direction);
      if (side < kNever && std::abs(point[2] + side * direction[2]) <= size[1]) return side;
      const Vec3s end(0, 0, size[1]);
      return std::max(sphere_exit(size[0], point - end, direction), sphere_exit(size[0], point + end, direction));
    }
    case Kind::hull:
      for (unsigned int i = 0; i < hull().num_normals_and_offsets; ++i) {
        const Vec3s &normal = (*hull().normals)[i];
        const double slope = normal.dot(direction);
        if (slope > kSteepest) height = std::min(height, (-(*hull().offsets)[i] - normal.dot(point)) / slope);
      }
      return height;
  }
  return height;
}

double Shape::support(const Vec3s &direction) const {
  switch (kind) {
    case Kind::sphere:
      return size[0] * direction.norm();
    case Kind::box:
      return size.dot(direction.cwiseAbs());
    case Kind::cylinder:
      return size[0] * direction.head<2>().norm() + size[1] * std::abs(direction[2]);
    case Kind::capsule:
      return size[0] * direction.norm() + size[1] * std::abs(direction[2]);
    case Kind::hull: {
      double most = -kNever;
      for (const Vec3s &vertex : *hull().points) most = std::max(most, vertex.dot(direction));
      return most;
    }
  }
  return 0;
}

bool Shape::rim_point(const Vec3s &direction, Vec3s &point) const {
  const double across = direction.head<2>().norm();
  if (kind != Kind::cylinder || across < kAlignment || std::abs(direction[2]) < kAlignment) return false;
  point.head<2>() = size[0] / across * direction.head<2>();
  point[2] = std::copysign(size[1], direction[2]);
  return true;
}

bool Shape::aligned(const Vec3s &direction, int choice, Vec3s &better) const {
  better = direction;
  if (kind == Kind::hull) {
    if (choice > 0) return false;
    for (const Vec3s &normal : *hull().normals)
      if (normal.dot(direction) > 1 - 0.5 * kAlignment * kAlignment) better = normal;
    return true;
  }
  const bool round = kind == Kind::cylinder || kind == Kind::capsule;
  if (kind == Kind::sphere || choice > (round ? 1 : 2)) return false;
  if (round && choice == 1) {
    if (direction.head<2>().norm() < kAlignment) better = Vec3s(0, 0, direction[2]);
  } else {
    const int axis = round ? 2 : choice;
    if (std::abs(direction[axis]) < kAlignment) better[axis] = 0;
  }
  better.normalize();
  return true;
}

}  // namespace convex_contact
