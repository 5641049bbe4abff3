"""Trajectory optimisation: Riccati's solution, gradients through contact, descent, limits; identification; errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from convex_contact import Simulator, World, rollout
from convex_contact.control.actuated_world import ActuatedWorld, DifferencedWorld
from convex_contact.control.ilqr import QuadraticCost, box_minimum, cost_gradient, optimize, simulate
from convex_contact.differentiation.identification import Trial, identify
from convex_contact.scenes.pushing_arm import ARM, HAND, Push, arm_pushes_ball, push, pushing_world, touches

N = 12


class Linear:
    """x_(k+1) = A x_k + B u_k; its states are vectors."""

    tangent, inputs = 4, 2

    def __init__(self) -> None:
        random = np.random.default_rng(2)
        self.A = np.eye(4) + 0.2 * random.normal(size=(4, 4))
        self.B = random.normal(size=(4, 2))

    def step(self, k: int, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.A @ x + self.B @ u

    def linearize(self, states: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(self.A, (len(inputs), 1, 1)), np.tile(self.B, (len(inputs), 1, 1))

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y - x

    def difference_jacobian(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.eye(4)

    def cost(self) -> QuadraticCost:
        return QuadraticCost(
            self, [1.0, 0.0, -1.0, 0.5], state=[1.0, 0.5, 0.0, 2.0], input=[0.3, 0.7],
            final=np.diag([5.0, 1.0, 1.0, 3.0]), input_reference=[0.1, -0.2],
        )  # fmt: skip

    def stacked(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M and b of the cost 1/2 |M u - b|^2 of all inputs in one vector."""
        cost, powers = self.cost(), [np.eye(4)]
        for _ in range(N):
            powers.append(self.A @ powers[-1])
        rows, right = [], []
        for k in range(N + 1):
            root = np.linalg.cholesky(1e-300 * np.eye(4) + (cost.Q if k < N else cost.Q_final)).T
            effect = np.zeros((4, 2 * N))
            for j in range(k):
                effect[:, 2 * j : 2 * j + 2] = powers[k - 1 - j] @ self.B
            rows.append(root @ effect)
            right.append(root @ (cost.reference - powers[k] @ start))
        rows.append(np.kron(np.eye(N), np.sqrt(cost.R)))
        right.append(np.tile(np.sqrt(cost.R) @ [0.1, -0.2], N))
        return np.vstack(rows), np.concatenate(right)


START = np.array([0.3, -0.4, 1.0, 0.2])


def test_one_iteration_solves_the_linear_quadratic_problem() -> None:
    """The inputs are those of one least-squares problem over all steps, the gains Riccati's."""
    system = Linear()
    cost = system.cost()
    found = optimize(system, cost, START, np.ones((N, 2)))
    assert (len(found.iterations), found.converged, found.reason) == (1, True, "gradient")
    M, b = system.stacked(START)
    # rounding, grown by the condition number of M
    np.testing.assert_allclose(found.inputs.ravel(), np.linalg.lstsq(M, b, rcond=None)[0], atol=1e-10)
    assert found.cost == pytest.approx(0.5 * float(np.sum((M @ found.inputs.ravel() - b) ** 2)), rel=1e-12)
    # what a full step brings is what was promised: the model is exact
    assert found.start_cost - found.cost == pytest.approx(found.iterations[0].expected, rel=1e-12)
    P = cost.Q_final
    for k in range(N - 1, -1, -1):
        K = -np.linalg.solve(cost.R + system.B.T @ P @ system.B, system.B.T @ P @ system.A)
        np.testing.assert_allclose(found.gains[k], K, atol=1e-11)
        P = cost.Q + system.A.T @ P @ (system.A + system.B @ K)


def test_limits_are_those_of_the_bounded_problem() -> None:
    """Against bounded least squares over all steps."""
    system = Linear()
    lower, upper = np.array([-0.3, -0.1]), np.array([0.2, 0.4])
    found = optimize(system, system.cost(), START, np.zeros((N, 2)), lower=lower, upper=upper, tolerance=0.0)
    M, b = system.stacked(START)
    best = scipy.optimize.lsq_linear(M, b, (np.tile(lower, N), np.tile(upper, N)), tol=1e-14, max_iter=1000)
    assert found.converged
    # the other solver stops where its optimality is about 1e-14 of the cost, whose root is the inputs' error
    np.testing.assert_allclose(found.inputs.ravel(), best.x, atol=1e-6)
    held = (found.inputs == lower) | (found.inputs == upper)
    assert 0.2 < held.mean() < 1.0
    assert not found.gains[held].any()  # no feedback where there is no room
    assert (found.inputs >= lower).all() and (found.inputs <= upper).all()


@pytest.mark.parametrize("n", [3, 8])  # of the 50 with 8 unknowns, one needs a shorter step than Newton's
def test_box_minimum_is_the_best_of_all_active_sets(n: int) -> None:
    random = np.random.default_rng(4)
    for _ in range(50):
        root = random.normal(size=(n, n))
        H, g = root @ root.T + 0.01 * np.eye(n), 3.0 * random.normal(size=n)
        low, high = -random.uniform(0.0, 1.0, n), random.uniform(0.0, 1.0, n)
        solved = box_minimum(H, g, low, high)
        assert solved is not None
        best = scipy.optimize.lsq_linear(root_of(H).T, -np.linalg.solve(root_of(H), g), (low, high), method="bvls")
        np.testing.assert_allclose(solved[0], best.x, atol=1e-9)  # rounding over the smallest curvature
    assert box_minimum(-np.eye(2), np.ones(2), -np.ones(2), np.ones(2)) is None


def root_of(H: np.ndarray) -> np.ndarray:
    return np.linalg.cholesky(H)


# ---- a world with contact -----------------------------------------------------------------------------------


def near(**numbers: Any) -> Push:
    """The arm's problem where the hand touches the ball from the start, the first steps of it."""
    problem = push(**numbers)
    guess = problem.guess[:N].copy()
    guess[:, 2] -= 2.0
    return Push(problem.system, problem.cost, guess, problem.limit, problem.target)


def moving(problem: Push, speed: float = 1.0) -> np.ndarray:
    """A state in which the hand runs into the ball, which turns."""
    x = problem.system.start
    change = np.zeros(problem.system.tangent)
    place, motion = problem.system.slices("ball")
    change[:3] = [0.02, 0.0, 0.0]
    change[place] = [-0.05, 0.003, 0.0, 0.1, -0.2, 0.3]
    change[motion] = [0.0, 0.1, 0.0, 1.0, 0.5, -1.0]
    change[problem.system.tangent // 2 :][:3] = [0.2, 0.0, -speed]
    return problem.system.moved(x, change)


def test_differences_of_states_and_their_derivatives() -> None:
    system = push().system
    random = np.random.default_rng(0)
    one = system.moved(system.start, 0.3 * random.normal(size=system.tangent))
    change = 0.3 * random.normal(size=system.tangent)
    two = system.moved(one, change)
    np.testing.assert_allclose(system.difference(one, two), change, atol=1e-12)  # rounding
    jacobian, h = system.difference_jacobian(one, two), 1e-6
    for j, d in enumerate(h * np.eye(system.tangent)):
        slope = (system.difference(one, system.moved(two, d)) - system.difference(one, system.moved(two, -d))) / (2 * h)
        np.testing.assert_allclose(jacobian[:, j], slope, atol=1e-8)  # eps/h = 1e-10, and h^2


def test_step_jacobians_make_the_motion_s_derivatives() -> None:
    """Products of the steps' derivatives are those of the whole motion, which have tests of their own."""
    problem = near()
    system, x = problem.system, moving(problem)
    system.set_state(x)
    r = rollout(system.simulator, N)
    A, B = r.step_jacobians()
    product = np.eye(system.tangent)
    for step in A:
        product = step @ product
    whole = r.jacobian(["initial_position", "initial_velocity"])[-1]
    np.testing.assert_allclose(product, whole, atol=1e-11 * np.abs(whole).max())
    by_force = r.tangent({"actuation": np.eye(N)[:, [3]] * np.ones(system.tangent // 2)})[4]
    np.testing.assert_allclose(B[3].sum(axis=1), by_force, atol=1e-11 * np.abs(by_force).max())


@pytest.mark.parametrize(
    "approximation, stiction_tolerance, h, tolerance",
    [
        # friction bends over v_s: errors of the differences grow as (h/v_s)^2, and as 1e-13/h
        ("lagged", 1e-1, 1e-5, 1e-6),
        ("sap", 1e-1, 1e-5, 1e-6),
        ("similar", 1e-1, 1e-5, 1e-6),
        # sticking and slipping at the paper's tolerance, 1e-4 m/s
        ("lagged", 1e-4, 1e-7, 1e-3),
    ],
)
def test_the_cost_s_gradient_through_contact(
    approximation: str, stiction_tolerance: float, h: float, tolerance: float
) -> None:
    problem = near(approximation=approximation, stiction_tolerance=stiction_tolerance)
    system, cost, inputs = problem.system, problem.cost, problem.guess
    x = moving(problem)
    states, _ = simulate(system, cost, x, inputs)
    pressed = [system.contacts(a, u) for a, u in zip(states[:-1], inputs, strict=True)]
    names = [body.name for body in system.world.bodies]
    pairs = [{names[i] for i in pair} for c in pressed for pair, f in zip(c.body, c.impulse, strict=True) if f[2] > 0]
    assert {HAND, "ball"} in pairs and {"floor", "ball"} in pairs
    gradient, random = cost_gradient(system, cost, states, inputs), np.random.default_rng(3)
    for _ in range(3):
        d = random.normal(size=inputs.shape)
        slope = (simulate(system, cost, x, inputs + h * d)[1] - simulate(system, cost, x, inputs - h * d)[1]) / (2 * h)
        assert (gradient * d).sum() == pytest.approx(slope, rel=tolerance)


def test_derivatives_by_differences_agree() -> None:
    problem = near(stiction_tolerance=1e-1)
    system = problem.system
    other = DifferencedWorld(system.world, period=system.period, stiction_tolerance=1e-1, h=1e-5)
    states, _ = simulate(system, problem.cost, moving(problem), problem.guess[:3])
    for own, differences in zip(
        system.linearize(states, problem.guess[:3]), other.linearize(states, problem.guess[:3]), strict=True
    ):
        np.testing.assert_allclose(own, differences, atol=1e-5 * np.abs(own).max())  # as above, each entry


def test_every_iteration_lowers_the_cost_within_the_limits() -> None:
    problem = near(effort_limit=4.0)
    x = moving(problem)
    found = optimize(
        problem.system, problem.cost, x, problem.guess, lower=-problem.limit, upper=problem.limit, max_iterations=6
    )
    assert (np.diff(found.costs) < 0.0).all() and len(found.iterations) >= 3
    assert found.cost == pytest.approx(simulate(problem.system, problem.cost, x, found.inputs)[1], rel=1e-12)
    assert (np.abs(found.inputs) <= problem.limit).all() and (np.abs(found.inputs) == problem.limit).any()
    assert found.gains.shape == (N, 3, problem.system.tangent)


def test_the_optimisation_s_parameters_act() -> None:
    problem = near()
    x = moving(problem)

    def solved(**changes: Any) -> Any:
        options: dict[str, Any] = {"max_iterations": 3, "lower": -20.0, "upper": 20.0}
        return optimize(problem.system, problem.cost, x, problem.guess, **options | changes)

    usual = solved()
    assert usual.reason == "max_iterations" and not usual.converged
    assert len(solved(max_iterations=1).iterations) == 1
    assert solved(tolerance=1e6).reason == "cost"
    assert solved(gradient_tolerance=1e6).reason == "gradient"
    assert solved(regularization=1.0).cost != usual.cost
    assert np.abs(solved(upper=1.0).inputs).max() != np.abs(usual.inputs).max()
    said: list[int] = []
    solved(report=lambda number, iteration: said.append(number))
    assert said == [0, 1, 2]


def test_the_world_plays_the_inputs() -> None:
    """By its drive, bit for bit as with efforts that are set; after the last input there is none."""
    problem = near()
    system = problem.system
    states, _ = simulate(system, problem.cost, system.start, problem.guess)
    system.play(problem.guess)
    assert system.world.trees[0].drive is not None
    alone = Simulator(system.world, period=system.period, stiction_tolerance=1e-2, polish=True)
    for x in states[1:]:
        alone.step()
        a = alone.dynamics.arrays
        np.testing.assert_allclose(np.concatenate([a.q, a.v]), x, atol=1e-11)  # rounding of other iterates
    np.testing.assert_array_equal(system.world.trees[0].drive(N * system.period), 0.0)
    system.world.trees[0].drive = None
    free = Simulator(system.world, period=system.period, stiction_tolerance=1e-2, polish=True)
    free.step(N)
    assert np.abs(free.dynamics.arrays.v - states[-1][-len(free.dynamics.arrays.v) :]).max() > 1e-2


def test_a_held_arm_stands_still() -> None:
    """Without contact the holding inputs balance gravity."""
    world = World()
    world.add_urdf("arm", ARM, q=(0.3, -0.4, 1.0))
    system = ActuatedWorld(world, period=1e-2, joints=["turn", "shoulder", "elbow"])
    x = system.step(0, system.start, system.holding(system.start))
    np.testing.assert_allclose(x, system.start, atol=1e-13)
    assert ActuatedWorld(world, period=1e-2, joints=["elbow"]).inputs == 1


def test_the_experiment_s_world_is_optimised_and_its_numbers_act() -> None:
    first = push()
    moved = [first.cost.reference, push(target_x=0.5).cost.reference, push(target_y=0.0).cost.reference]
    assert not np.array_equal(moved[0], moved[1]) and not np.array_equal(moved[0], moved[2])
    assert push(effort_limit=7.0).limit == 7.0
    for change in ({"friction": 0.1}, {"stiffness": 1e3}, {"stiction_tolerance": 1e-3}, {"approximation": "similar"}):
        problem = near(**change)
        states, _ = simulate(problem.system, problem.cost, moving(problem), problem.guess)
        usual = near()
        assert np.abs(states[-1] - simulate(usual.system, usual.cost, moving(usual), usual.guess)[0][-1]).max() > 1e-6
    world = arm_pushes_ball(max_iterations=1, target_x=0.5)
    drive = world.trees[0].drive
    assert drive is not None
    assert np.abs(np.array(drive(0.1)) - np.array(drive(0.2))).max() > 0.0


def test_touches_are_the_contacts_of_the_motion() -> None:
    problem = near()
    x = moving(problem)
    found = optimize(problem.system, problem.cost, x, problem.guess, max_iterations=1)
    pushes = [touch for touch in touches(problem.system, found) if set(touch.bodies) == {HAND, "ball"}]
    assert pushes
    for touch in pushes:
        for k in range(touch.first, touch.last + 1):
            contacts = problem.system.contacts(found.states[k], found.inputs[k])
            forces = [f[2] / 1e-2 for f in contacts.impulse if f[2] > 0.0]
            assert forces and max(forces) > 0.0
        assert touch.force > 0.0 and 0.0 <= touch.sticking <= 1.0


# ---- identification -----------------------------------------------------------------------------------------

TRUTH = {"friction(floor, ball)": 0.35, "stiffness(floor, ball)": 2e4, "dissipation(floor, ball)": 0.6}


def thrown(values: dict[str, float] | None = None) -> World:
    """A ball that falls aslant, bounces and slides."""
    world = World()
    world.add_half_space("floor")
    world.add_sphere(
        "ball", mass=0.5, radius=0.025, position=(0, 0, 0.03), velocity=(1.0, 0, -0.5), angular_velocity=(0, 0, 9)
    )
    v = TRUTH if values is None else values
    world.set_pair("floor", "ball", **{name.partition("(")[0]: value for name, value in v.items()})
    return world


def recorded(steps: int = 60) -> tuple[np.ndarray, np.ndarray]:
    r = rollout(Simulator(thrown(), period=2e-3, polish=True), steps)
    return r.q[:, :3], r.q[:, 3:]


def test_identification_recovers_what_made_the_motion() -> None:
    position, orientation = recorded()
    guess = {name: 1.4 * value for name, value in TRUTH.items()}
    trial = Trial(lambda: thrown(guess), "ball", position, 2e-3, orientation)
    found = identify([trial], guess)
    assert found.converged
    for name, value in TRUTH.items():
        # no noise: the errors at the minimum are rounding, and so are the values
        assert found.values[name] == pytest.approx(value, rel=1e-6), name
        assert found.deviation[name] < 1e-6
    assert found.error < 1e-7


def test_one_step_is_enough_to_identify_friction() -> None:
    """A ball that slides on the floor, in it by half a millimetre."""

    def sliding() -> World:
        world = thrown()
        (ball,) = (body for body in world.bodies if body.name == "ball")
        ball.placement.position[:] = 0.0, 0.0, 0.0245
        return world

    position = rollout(Simulator(sliding(), period=2e-3, polish=True), 1).q[:, :3]
    assert position.shape == (2, 3)
    found = identify([Trial(sliding, "ball", position, 2e-3)], {"friction(floor, ball)": 0.5})
    assert found.values["friction(floor, ball)"] == pytest.approx(0.35, rel=1e-4)


def test_identification_s_deviation_is_that_of_the_noise() -> None:
    """Ten times the noise, ten times the deviation; the truth is within four of them."""
    position, _ = recorded()
    noise = np.random.default_rng(1).normal(size=position.shape)
    guess = {"friction(floor, ball)": 0.4, "stiffness(floor, ball)": 2.2e4}
    deviations = []
    for size in (1e-6, 1e-5):
        trial = Trial(thrown, "ball", position + size * noise, 2e-3)
        found = identify([trial], guess, length=size)
        deviations.append(found.deviation["friction(floor, ball)"])
        assert abs(found.values["friction(floor, ball)"] / 0.35 - 1.0) < 4.0 * deviations[-1]
        assert found.error == pytest.approx(1.0, abs=0.2)  # of 183 numbers: 1/sqrt(2 183) = 0.05
    assert deviations[1] / deviations[0] == pytest.approx(10.0, rel=0.1)


# ---- bad input ----------------------------------------------------------------------------------------------


def prescribed() -> World:
    world = pushing_world()
    world.add_half_space("belt", prescribed=True, point=(0, 0, -5))
    return world


def ball_alone() -> World:
    world = World()
    world.add_sphere("ball", mass=1.0, radius=0.1)
    return world


def trial(**changes: Any) -> Trial:
    return Trial(**{"world": thrown, "body": "ball", "position": np.zeros((3, 3)), "period": 2e-3} | changes)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda s, c: optimize(s, c, START, np.zeros((0, 2))), "inputs"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 1))), "inputs"),
        (lambda s, c: optimize(s, c, START, np.full((3, 2), np.nan)), "inputs"),
        (lambda s, c: optimize(s, c, [np.inf] * 4, np.zeros((3, 2))), "start"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), lower=1.0, upper=0.0), "lower"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), upper=[1.0, 1.0, 1.0]), "upper"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), lower=np.nan), "lower"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), max_iterations=0), "max_iterations"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), tolerance=-1.0), "tolerance"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), gradient_tolerance=-1.0), "gradient_tolerance"),
        (lambda s, c: optimize(s, c, START, np.zeros((3, 2)), regularization=-1.0), "regularization"),
        (lambda s, c: QuadraticCost(s, START, state=np.ones(3), input=np.ones(2), final=np.ones(4)), "state"),
        (lambda s, c: QuadraticCost(s, START, state=np.ones(4), input=np.zeros(2), final=np.ones(4)), "input"),
        (lambda s, c: QuadraticCost(s, START, state=np.ones(4), input=np.ones(2), final=-np.ones(4)), "final"),
        (lambda s, c: QuadraticCost(s, [np.nan], state=np.ones(4), input=np.ones(2), final=np.ones(4)), "reference"),
        (lambda s, c: ActuatedWorld(prescribed(), period=1e-2), "belt"),
        (lambda s, c: push(approximation="lagged_elastoplastic"), "approximation"),
        (lambda s, c: ActuatedWorld(pushing_world(), period=1e-2, joints=["knee"]), "knee"),
        (lambda s, c: ActuatedWorld(ball_alone(), period=1e-2), "joints"),
        (lambda s, c: push(effort_limit=0.0), "effort_limit"),
        (lambda s, c: push(stiffness=-1.0), "stiffness"),
        (lambda s, c: push(target_x=np.nan), "target_x"),
        (lambda s, c: arm_pushes_ball(colour=1.0), "colour"),
        (lambda s, c: identify([], {"friction(floor, ball)": 1.0}), "trials"),
        (lambda s, c: identify([trial()], {}), "start"),
        (lambda s, c: identify([trial()], {"mass(ball)": 1.0}), "mass"),
        (lambda s, c: identify([trial()], {"friction(floor, ball)": 0.0}), "friction"),
        (lambda s, c: identify([trial()], {"friction(floor, cat)": 0.3}), "cat"),
        (lambda s, c: identify([trial(position=np.zeros((3, 2)))], {"friction(floor, ball)": 0.3}), "position"),
        (
            lambda s, c: identify([trial(orientation=np.zeros((2, 4)))], {"friction(floor, ball)": 0.3}),
            "orientation",
        ),
        (lambda s, c: identify([trial()], {"friction(floor, ball)": 0.3}, length=0.0), "length"),
        (lambda s, c: identify([trial()], {"friction(floor, ball)": 0.3}, angle=0.0), "angle"),
        (lambda s, c: identify([trial()], {"friction(floor, ball)": 0.3}, range=1.0), "range"),
        (lambda s, c: identify([trial()], {"friction(floor, ball)": 0.3}, max_evaluations=0), "max_evaluations"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call: Callable[[Any, Any], Any], said: str) -> None:
    system = Linear()
    with pytest.raises(ValueError, match=said):
        call(system, system.cost())


def test_steps_whose_contacts_remember_have_no_jacobians() -> None:
    simulator = Simulator(pushing_world(), period=1e-2, approximation="lagged_elastoplastic")
    with pytest.raises(ValueError, match="lagged_elastoplastic"):
        rollout(simulator, 1).step_jacobians()
