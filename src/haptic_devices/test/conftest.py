"""Settings of the property tests."""

from hypothesis import settings

# repeatable, and no test fails because the first call of a kernel compiles it
settings.register_profile("haptic_suite", derandomize=True, deadline=None, database=None)
settings.load_profile("haptic_suite")
