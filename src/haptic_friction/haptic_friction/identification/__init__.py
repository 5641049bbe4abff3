"""Identification: parameters of a law, of model C, LuGre or elements in parallel from recorded velocity and force.

Sign convention as everywhere: the force f points in the direction of sliding; the body that moves with the velocity
feels -f. Signals are arrays of shape (n_samples, dimension), in m/s and N; (n_samples,) is one dimension.

A law is fitted to the sliding samples, model C (Kikuuwe et al., eq. (38)) to the whole record: its response to the
recorded velocity, from an unknown displacement at the first sample, is brought to the recorded force by least squares.
Starting values come from linear regressions: |f| = g(|u|) while sliding gives the law, f = K e + B de/dt with
e = integral of u since it stuck gives K and B.

LuGre and elements in parallel are fitted likewise, in `lugre.py` and `parallel.py`; their response may be that of the
differential equation between the samples (`responses.py`) instead of one implicit Euler step a sample.

Residuals of recorded signals are correlated (filters, encoders, what the model lacks), so the 95 % intervals do not
assume independent samples: they come from a delete-one-block jackknife of the linearised fit, Student's t with the
number of blocks with information on the parameter. A block is many correlation times long.

The intervals do not contain a bias. Noise of the velocity is the main one: in the regressor of a least-squares
fit it divides D by 1 + x, x the fraction of the noise in the variance of the speed, and likewise B while it sticks;
`velocity_resolution` extends the intervals by that. And where the force answers a velocity that is later by t than the
recorded one, B comes out as B - K t, since K (x - t u) + B u = K x + (B - K t) u.
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
