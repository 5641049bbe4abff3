// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// A convex shape: Coal's geometry, and how far it reaches along a direction over a given point.
#pragma once

#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace convex_contact {

using coal::Vec3s;

enum class Kind : std::int64_t { sphere = 0, box = 1, cylinder = 2, capsule = 3, hull = 5 };

using Hull = coal::Convex<coal::Triangle>;

struct Shape {
  Kind kind;
  std::unique_ptr<coal::ShapeBase> geometry;
  std::unique_ptr<coal::ShapeBase> core;  // of a cylinder: a smaller one, with a sphere of `kRim` swept around it
  Vec3s size;        // half sides of a box; radius and half length of a cylinder or capsule; radius of a sphere
  double thickness;  // smallest width, m

  Shape(Kind kind, const double *parameters);
  Shape(std::int64_t count, const double *points);

  // Largest t with point + t direction on the surface that faces the direction (own frame). Faces steeper than
  // `kSteepest` are left out, so that it continues smoothly beyond the outline.
  double exit_height(const Vec3s &point, const Vec3s &direction) const;

  // Largest component along a direction (own frame).
  double support(const Vec3s &direction) const;

  // The point that reaches farthest along a direction; false if a whole edge or face does (own frame, cylinders only).
  bool rim_point(const Vec3s &direction, Vec3s &point) const;

  // A direction that is better aligned with an edge or face that it nearly fits; `choice` counts from 0. False beyond
  // the last choice (own frame).
  bool aligned(const Vec3s &direction, int choice, Vec3s &better) const;

  const coal::ShapeBase &rounded() const { return core ? *core : *geometry; }
  double rounding() const { return core ? core->getSweptSphereRadius() : 0; }

  const Hull &hull() const { return static_cast<const Hull &>(*geometry); }
};

constexpr double kSteepest = 0.05;  // cosine between a face's normal and the direction
constexpr double kRim = 0.02;        // of a cylinder's smaller half size
constexpr double kAlignment = 1e-3;  // rad

}  // namespace convex_contact
