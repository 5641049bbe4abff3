#!/usr/bin/env bash
# Enters ROS 2 and the suite's workspace, then becomes the container's command.
set -e
source /opt/ros/jazzy/setup.bash
# shellcheck source=/dev/null
source /home/haptics/suite/.haptics/system/environment.sh
exec "$@"
