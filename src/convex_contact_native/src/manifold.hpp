// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.
//
// The points where two convex shapes touch or will touch.
#pragma once

#include <coal/contact_patch/contact_patch_solver.h>
#include <coal/narrowphase/narrowphase.h>

#include <vector>

#include "shapes.hpp"

namespace convex_contact {

struct Manifold {
  Vec3s normal;               // from the first shape into the second
  double distance = 0;        // signed, m
  std::vector<Vec3s> points;  // midway between the two surfaces
  std::vector<double> gaps;   // of each point along the normal, m
  bool reliable = true;       // false: Coal found no normal, and the fallback was used
};

class ManifoldFinder {
 public:
  ManifoldFinder();

  // Fills the manifold; it has no points when the shapes are farther apart than `reach`.
  void find(const Shape &a, const coal::Transform3s &pose_a, const Shape &b, const coal::Transform3s &pose_b,
            double reach, Manifold &manifold);

 private:
  void find_normal(const Shape &a, const coal::Transform3s &pose_a, const Shape &b, const coal::Transform3s &pose_b,
                   double reach, Vec3s &midpoint, Manifold &manifold);

  // Normal and distance of two boxes that overlap, where they are those of a face; false otherwise.
  static bool box_face(const Shape &a, const coal::Transform3s &pose_a, const Shape &b, const coal::Transform3s &pose_b,
                       Vec3s &midpoint, Manifold &manifold);

  // Normal of polytopes that barely touch: there EPA's is arbitrary, and the best of all faces' normals is exact.
  void facing(const Shape &a, const coal::Transform3s &pose_a, const Shape &b, const coal::Transform3s &pose_b,
              Manifold &manifold) const;

  // Normal, distance and place of the true shapes, from those of their cores.
  void sharpen(const Shape &a, const coal::Transform3s &pose_a, const Shape &b, const coal::Transform3s &pose_b,
               Vec3s &midpoint, Manifold &manifold) const;

  coal::GJKSolver solver_;
  coal::ContactPatchSolver patch_solver_;
  coal::ContactPatch patch_;
  std::vector<Vec3s> corners_;
};

}  // namespace convex_contact
