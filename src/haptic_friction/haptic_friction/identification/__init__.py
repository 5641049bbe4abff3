"""Identification: parameters of a law, of model C, LuGre or elements in parallel from recorded velocity and force.

Sign convention of the package: the force f points in the direction of sliding; -f acts on the body that moves with
the velocity. Signals are arrays of shape (n_samples, dimension), in m/s and N; (n_samples,) is one dimension.

A law is fitted to the sliding samples. Model C (Kikuuwe et al., eq. (38)) is fitted to the whole record: least squares
fit its response to the recorded velocity, from an unknown displacement at the first sample, to the recorded force.
Starting values come from linear regressions: |f| = g(|u|) while sliding gives the law, and f = K e + B de/dt, with
e the integral of u since the contact stuck, gives K and B.

LuGre and elements in parallel are fitted in the same way, in `lugre.py` and `parallel.py`. Their response can be that
of the differential equation between the samples (`responses.py`) instead of one implicit Euler step per sample.

Residuals of recorded signals are correlated (filters, encoders, effects that the model lacks), so the 95 % intervals do
not assume independent samples. They come from a delete-one-block jackknife of the linearised fit, with Student's t for
the number of blocks with information on the parameter. A block is many correlation times long.

The intervals do not contain a bias. The main source of bias is noise of the velocity. In the regressor of a
least-squares fit it divides D by 1 + x, with x the fraction of the noise in the variance of the speed, and B in the
same way while the contact sticks; `velocity_resolution` extends the intervals by this bias. If the force responds to
the recorded velocity with a delay t, the estimate of B is B - K t, since K (x - t u) + B u = K x + (B - K t) u.
"""

from haptic_friction.identification.estimates import LAWS, Estimate, Identification
from haptic_friction.identification.identify import identify_law, identify_model_c
from haptic_friction.identification.lugre import identify_lugre
from haptic_friction.identification.parallel import identify_loading_curve, identify_parallel_elements
from haptic_friction.identification.records import FEWEST, FEWEST_STATIC
from haptic_friction.identification.signal_file import Signals, read_signals

__all__ = [
    "FEWEST",
    "FEWEST_STATIC",
    "LAWS",
    "Estimate",
    "Identification",
    "Signals",
    "identify_law",
    "identify_loading_curve",
    "identify_lugre",
    "identify_model_c",
    "identify_parallel_elements",
    "read_signals",
]
