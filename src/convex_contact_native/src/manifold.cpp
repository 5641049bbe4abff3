// Copyright 2026 the haptic suite maintainers. Licensed under the Apache License 2.0, see LICENSE.

#include "manifold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

// How a manifold is made, for shapes apart as for shapes in contact:
//
// 1. GJK, or EPA when they overlap, gives the normal n, the signed distance and the two closest points. Of boxes that
//    overlap, n is that of a face wherever no two edges separate them more: exact, and without EPA. On cylinders
//    EPA is not reliable: with a loose tolerance the normals of shallow overlaps are arbitrary, with a tight one it
//    ends far from the smallest depth in a few per cent of deep ones. Cylinders that nearly touch or overlap therefore
//    have their rims rounded for GJK: it sees a smaller cylinder with a sphere swept around it, which stays clear of
//    the other shape up to that radius. The normal is the cylinder's, but where rims and edges meet, and there nearly.
//    As the signed distance is the largest separation along any direction, the separation of the true shapes along n
//    is taken, and n is moved onto a face or edge that it nearly fits where that separates more.
// 2. Each shape's support set along n, with a thickness of `kFaceAngle` times the thinner shape's width, is projected
//    along n; Coal's contact patch is the intersection of the two polygons. It does not depend on the distance: it is
//    the patch of the shapes shifted along n until they touch.
// 3. A corner p of the patch gets the gap along n between the two surfaces over p, and lies midway between them.
// 4. Where no corner is as close as the closest points (edges that cross), these make one more point.
//
// A patch of two nearly parallel segments is computed here: Coal 3.0.3 keeps a comparison for their determinant and
// takes most of them for crossing.

namespace convex_contact {

namespace {

constexpr double kFaceAngle = 0.1;        // rad, about: how far from parallel a face still counts as facing
constexpr double kSamePlace = 1e-4;       // of the width: the patch holds the closest point if it comes that close
constexpr double kPolytopeTolerance = 1e-10;  // m; GJK ends on polytopes at rounding
constexpr double kShallow = 1e-6;             // m; below it the normal of polytopes is checked against their faces
constexpr double kSmoothTolerance = 1e-12;    // m; GJK on cylinders, whose normal is wrong by the root of it
constexpr double kDeepTolerance = 1e-6;       // m; EPA on cylinders that overlap deeply
constexpr double kNearlyTouching = 0.05;      // of the roundings: below it GJK sees rounded rims
constexpr double kParallelEdges = 1e-6;       // of the squared sine: their normal is that of a face
constexpr int kCircleSamples = 8;

using coal::Transform3s;

bool is_polytope(const Shape &shape) { return shape.kind == Kind::box || shape.kind == Kind::hull; }

double separation_along(const Vec3s &n, const Shape &a, const Transform3s &pose_a, const Shape &b,
                        const Transform3s &pose_b) {
  return n.dot(pose_b.getTranslation() - pose_a.getTranslation()) - a.support(pose_a.getRotation().transpose() * n) -
         b.support(-(pose_b.getRotation().transpose() * n));
}

// Overlap of the segments ab and cd, which are nearly parallel; false if they cross at an angle.
bool parallel_overlap(const coal::SupportSet &first, const coal::SupportSet &second, std::vector<coal::Vec2s> &ends) {
  const coal::Vec2s a = first.points()[0], c = second.points()[0];
  const coal::Vec2s ab = first.points()[1] - a, cd = second.points()[1] - c;
  const double length = ab.norm(), other = cd.norm();
  if (std::abs(ab[0] * cd[1] - ab[1] * cd[0]) > kFaceAngle * length * other) return false;
  const double from = ab.dot(c - a) / length, to = ab.dot(c + cd - a) / length;
  const double low = std::max(0.0, std::min(from, to)), high = std::min(length, std::max(from, to));
  if (!(high > low)) return false;
  ends = {a + ab * (low / length), a + ab * (high / length)};
  return true;
}

}  // namespace

bool ManifoldFinder::box_face(const Shape &a, const Transform3s &pose_a, const Shape &b, const Transform3s &pose_b,
                              Vec3s &midpoint, Manifold &manifold) {
  const coal::Matrix3s &A = pose_a.getRotation(), &B = pose_b.getRotation();
  const Vec3s between = pose_b.getTranslation() - pose_a.getTranslation();
  const coal::Matrix3s C = A.transpose() * B, turned = C.cwiseAbs();
  const Vec3s by_a = A.transpose() * between, by_b = B.transpose() * between;  // along the axes of both
  const Vec3s apart_a = by_a.cwiseAbs() - a.size - turned * b.size;
  const Vec3s apart_b = by_b.cwiseAbs() - b.size - turned.transpose() * a.size;
  int i = 0, j = 0;
  const double most_a = apart_a.maxCoeff(&i), most_b = apart_b.maxCoeff(&j), most = std::max(most_a, most_b);
  if (most > 0) return false;  // apart: the closest points need not be on faces
  for (int k = 0; k < 3; ++k) {
    for (int m = 0; m < 3; ++m) {
      const double square = 1 - C(k, m) * C(k, m);
      if (square < kParallelEdges) continue;
      const int k1 = (k + 1) % 3, k2 = (k + 2) % 3, m1 = (m + 1) % 3, m2 = (m + 2) % 3;
      const double centers = std::abs(by_a[k2] * C(k1, m) - by_a[k1] * C(k2, m));
      const double reach = a.size[k1] * turned(k2, m) + a.size[k2] * turned(k1, m) + b.size[m1] * turned(k, m2) +
                           b.size[m2] * turned(k, m1);
      if (centers - reach > (most + kPolytopeTolerance) * std::sqrt(square)) return false;
    }
  }
  const bool of_a = most_a >= most_b;
  Vec3s n = of_a ? A.col(i) : B.col(j);
  if ((of_a ? by_a[i] : by_b[j]) < 0) n = -n;
  manifold.reliable = true;
  manifold.normal = n;
  manifold.distance = most;
  // the farthest corner of the other box, and the face below it
  const Vec3s inward = of_a ? Vec3s(-(B.transpose() * n)) : Vec3s(A.transpose() * n);
  const Vec3s &size = of_a ? b.size : a.size;
  Vec3s corner;
  for (int k = 0; k < 3; ++k) corner[k] = std::copysign(size[k], inward[k]);
  midpoint = (of_a ? pose_b : pose_a).transform(corner) + (of_a ? -0.5 : 0.5) * most * n;
  return true;
}

ManifoldFinder::ManifoldFinder() : patch_(16) {
  solver_.gjk_initial_guess = coal::GJKInitialGuess::CachedGuess;
  solver_.gjk_max_iterations = 128;
  solver_.epa_max_iterations = 128;
  patch_solver_.num_samples_curved_shapes = kCircleSamples;
}

void ManifoldFinder::find_normal(const Shape &a, const Transform3s &pose_a, const Shape &b, const Transform3s &pose_b,
                                 double reach, Vec3s &midpoint, Manifold &manifold) {
  if (a.kind == Kind::box && b.kind == Kind::box && box_face(a, pose_a, b, pose_b, midpoint, manifold)) return;
  const bool with_cores = a.core || b.core;
  const bool exact = is_polytope(a) && is_polytope(b);
  solver_.gjk_tolerance = exact ? kPolytopeTolerance : kSmoothTolerance;
  solver_.epa_tolerance = exact ? kPolytopeTolerance : kDeepTolerance;
  const Vec3s between = pose_b.getTranslation() - pose_a.getTranslation();
  Vec3s p, q, n = Vec3s::Constant(std::numeric_limits<double>::quiet_NaN());
  double distance = 0;
  const auto query = [&](const coal::ShapeBase &one, const coal::ShapeBase &two, const Transform3s &pose,
                         bool overlap) {
    // the same start for the same relative pose, whatever was asked before
    const Vec3s guess = pose_a.getRotation().transpose() * (pose_a.getTranslation() - pose.getTranslation());
    solver_.cached_guess = guess.squaredNorm() > 0 ? guess : Vec3s(1, 0, 0);
    solver_.support_func_cached_guess.setZero();
    distance = solver_.shapeDistance(one, pose_a, two, pose, overlap, p, q, n);
  };
  solver_.distance_upper_bound = std::max(reach, 0.0);
  query(*a.geometry, *b.geometry, pose_b, !with_cores);
  if (solver_.gjk.status == coal::details::GJK::NoCollisionEarlyStopped) {
    manifold.reliable = true;
    manifold.normal = Vec3s::Zero();
    manifold.distance = std::numeric_limits<double>::infinity();
    return;
  }
  solver_.distance_upper_bound = std::numeric_limits<double>::max();
  if (with_cores && !(distance > kNearlyTouching * (a.rounding() + b.rounding())))
    query(a.rounded(), b.rounded(), pose_b, true);
  const double norm = n.norm();
  manifold.reliable = std::abs(norm - 1) < 1e-6 && std::abs(distance) < 1e300 && p.allFinite() && q.allFinite();
  if (manifold.reliable) {
    manifold.normal = n / norm;
    manifold.distance = distance;
    midpoint = 0.5 * (p + q);
    if (with_cores) sharpen(a, pose_a, b, pose_b, midpoint, manifold);
    if (exact && std::abs(distance) < kShallow) facing(a, pose_a, b, pose_b, manifold);
    return;
  }
  // EPA failed: shift the second shape away until GJK sees a gap, and keep that normal
  const Vec3s away = between.squaredNorm() > 0 ? between.normalized() : Vec3s(0, 0, 1);
  manifold.normal = away;
  midpoint = 0.5 * (pose_a.getTranslation() + pose_b.getTranslation());
  const double width = std::min(a.thickness, b.thickness);
  for (double shift = 1e-3 * width; shift < 1e4 * width; shift *= 2) {
    query(*a.geometry, *b.geometry, Transform3s(pose_b.getRotation(), pose_b.getTranslation() + shift * away), false);
    if (n.allFinite() && p.allFinite() && distance > solver_.gjk_tolerance) {
      manifold.normal = n.normalized();
      midpoint = 0.5 * (p + q - shift * away);
      break;
    }
  }
  sharpen(a, pose_a, b, pose_b, midpoint, manifold);
}

void ManifoldFinder::facing(const Shape &a, const Transform3s &pose_a, const Shape &b, const Transform3s &pose_b,
                            Manifold &manifold) const {
  double best = separation_along(manifold.normal, a, pose_a, b, pose_b);
  const auto attempt = [&](const Vec3s &direction) {
    const double separation = separation_along(direction, a, pose_a, b, pose_b);
    if (separation > best) {
      best = separation;
      manifold.normal = direction;
      manifold.distance = separation;
    }
  };
  for (const auto &[shape, pose, sign] : {std::tuple(&a, &pose_a, 1.0), std::tuple(&b, &pose_b, -1.0)}) {
    if (shape->kind == Kind::box) {
      for (int axis = 0; axis < 3; ++axis) {
        attempt(pose->getRotation().col(axis));
        attempt(-pose->getRotation().col(axis));
      }
    } else {
      const Hull &hull = shape->hull();
      for (unsigned int i = 0; i < hull.num_polygons; ++i) {
        const auto &triangle = (*hull.polygons)[i];
        const Vec3s &p = (*hull.points)[triangle[0]];
        const Vec3s m = ((*hull.points)[triangle[1]] - p).cross((*hull.points)[triangle[2]] - p);
        if (m.norm() > 0) attempt(sign * (pose->getRotation() * m.normalized()));
      }
    }
  }
}

void ManifoldFinder::sharpen(const Shape &a, const Transform3s &pose_a, const Shape &b, const Transform3s &pose_b,
                             Vec3s &midpoint, Manifold &manifold) const {
  Vec3s &n = manifold.normal;
  double &distance = manifold.distance;
  distance = separation_along(n, a, pose_a, b, pose_b);
  Vec3s better;
  for (const auto &[shape, pose, sign] : {std::tuple(&a, &pose_a, 1.0), std::tuple(&b, &pose_b, -1.0)}) {
    const auto &rotation = pose->getRotation();
    for (int i = 0; shape->aligned(sign * (rotation.transpose() * n), i, better); ++i) {
      better = sign * (rotation * better);
      const double separation = separation_along(better, a, pose_a, b, pose_b);
      if (separation > distance) {
        n = better;
        distance = separation;
      }
    }
  }
  // a point of a rim is a place of its own, beside that of the rounded rim
  Vec3s point;
  int rims = 0;
  Vec3s sum = Vec3s::Zero();
  if (a.rim_point(pose_a.getRotation().transpose() * n, point)) {
    sum += pose_a.transform(point) + 0.5 * distance * n;
    ++rims;
  }
  if (b.rim_point(-(pose_b.getRotation().transpose() * n), point)) {
    sum += pose_b.transform(point) - 0.5 * distance * n;
    ++rims;
  }
  if (rims > 0) midpoint = sum / rims;
}

void ManifoldFinder::find(const Shape &a, const Transform3s &pose_a, const Shape &b, const Transform3s &pose_b,
                          double reach, Manifold &manifold) {
  manifold.points.clear();
  manifold.gaps.clear();
  Vec3s midpoint;
  find_normal(a, pose_a, b, pose_b, reach, midpoint, manifold);
  if (!(manifold.distance < reach)) return;
  const Vec3s &n = manifold.normal;
  const double width = std::min(a.thickness, b.thickness);

  corners_.clear();
  if (a.kind != Kind::sphere && b.kind != Kind::sphere) {  // the support set of a sphere is a point
    coal::Contact contact;
    contact.normal = n;
    contact.pos = midpoint;
    contact.penetration_depth = manifold.distance;
    patch_solver_.patch_tolerance = kFaceAngle * width;
    patch_solver_.support_guess.setZero();  // of another pair's hulls
    patch_solver_.computePatch(*a.geometry, pose_a, *b.geometry, pose_b, contact, patch_);
    const auto &first = patch_solver_.support_set_shape1, &second = patch_solver_.support_set_shape2;
    if (first.size() == 2 && second.size() == 2) {
      std::vector<coal::Vec2s> ends;
      if (parallel_overlap(first, second, ends))
        for (const auto &end : ends) corners_.push_back(patch_.tf.transform(Vec3s(end[0], end[1], 0)));
    } else if (first.size() >= 2 && second.size() >= 2 && patch_.size() >= 2) {
      for (std::size_t i = 0; i < patch_.size(); ++i) corners_.push_back(patch_.getPoint(i));
    }
  }

  const Vec3s n_a = pose_a.getRotation().transpose() * n, n_b = pose_b.getRotation().transpose() * (-n);
  double closest = std::numeric_limits<double>::infinity();
  for (const Vec3s &corner : corners_) {
    const double up = a.exit_height(pose_a.getRotation().transpose() * (corner - pose_a.getTranslation()), n_a);
    const double down = b.exit_height(pose_b.getRotation().transpose() * (corner - pose_b.getTranslation()), n_b);
    const double gap = -up - down;
    if (!std::isfinite(gap)) continue;
    const Vec3s point = corner + 0.5 * (up - down) * n;
    const bool repeated = std::any_of(manifold.points.begin(), manifold.points.end(), [&](const Vec3s &other) {
      return (other - point).squaredNorm() < kSamePlace * kSamePlace * width * width;
    });
    if (repeated) continue;
    manifold.points.push_back(point);
    manifold.gaps.push_back(gap);
    closest = std::min(closest, gap);
  }
  if (closest > manifold.distance + kSamePlace * width) {
    manifold.points.push_back(midpoint);
    manifold.gaps.push_back(manifold.distance);
  }
}

}  // namespace convex_contact
