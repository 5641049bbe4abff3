# shellcheck shell=bash disable=SC2154,SC2016
# Makes the environment in which the suite runs. The `haptics` script sources this file to call `set_up`.
# The file `stamp` in its folder has a line for each part that is made: the name and a hash of all that it depends on
# (`wanted` in `haptics`). A part without its line is made; if it is the packages, everything is, from nothing.

hint() {  # prints what to do about what the failed command wrote
  case $(<"$log") in
    *"No space left on device"* | *"os error 28"*) echo "free some disk space, or set HAPTICS_HOME to a larger disk" ;;
    *"Python.h: No such file"* | *Development.Module* | *Python3_INCLUDE_DIR*) echo "apt install python3-dev" ;;
    *"No CMAKE_C"*_COMPILER* | *"compiler identification is unknown"*) echo "apt install g++" ;;
    *"Hash mismatch"* | *"DO NOT MATCH THE HASHES"*) echo "the registry served another file than the one that was locked" ;;
    *NewConnectionError* | *"failure in name resolution"* | *"Network is unreachable"* | *"Connection refused"* | \
      *ReadTimeout* | *"Max retries"* | *ProxyError* | *SSLError* | *CERTIFICATE_VERIFY_FAILED* | *"error sending request"*)
      echo "is the package registry reachable? pip's own settings (proxy, index, certificates) apply" ;;
    *"No matching distribution found"* | *"not a supported wheel"*)
      echo "no package for this Python: try another HAPTICS_PYTHON, or source a ROS 2 Jazzy installation" ;;
  esac
}

run() {  # TITLE SECONDS COMMAND ...: its output in a log, one line with the time; SECONDS on the machine of README.md
  local start=$SECONDS size="" outcome=""
  log=$home/log/${1// /_}.log
  printf '  %s ' "$1" >&2
  (cd "$home/log" && exec setsid env "${settings[@]}" "${@:3}") >"$log" 2>&1 </dev/null &
  [[ ! -t 2 ]] || size=$(stty size <&2)  # rows and columns
  while [[ -t 2 ]] && kill -0 "$!" 2>/dev/null; do
    printf '\r\e[K%.*s' "$((${size#* } - 1))" \
      "  $1  $((SECONDS - start)) of about $(($2 * slowness / 100 + 1)) s  $(tail -n 1 "$log")" >&2
    sleep 0.2
  done
  wait "$!" || outcome="failed after "
  [[ ! -t 2 ]] || printf '\r\e[K  %s ' "$1" >&2
  printf ' %s%d s\n' "$outcome" "$((SECONDS - start))" >&2
  [[ -z $outcome ]]
}

fail() {  # MESSAGE: ends setup after `run` has failed
  tail -n 15 "$log" | cut -c 1-160 | sed 's/^/  | /' >&2
  die "$1: $(tail -n 1 "$log" | cut -c 1-200) (all of it: $log)" "$(hint)"
}

stop() {  # NUMBER: ends setup after a signal, with all that it started
  { kill -TERM -- "-$!" || kill -TERM "$!"; wait "$!"; kill -KILL -- "-$!"; } 2>/dev/null || true
  printf '\nhaptics: setup was interrupted; the next start continues it\n' >&2
  exit $((128 + $1))
}

inside() {  # TITLE SECONDS COMMAND ...: runs a command in the environment
  run "$1" "$2" bash -c 'source "$0" && exec "$@"' "$home/environment.sh" "${@:3}" || fail "$1"
}

install() {  # TITLE SECONDS -r LOCK_FILE ...: installs exactly the packages of the files, their hashes checked
  local python=$home/env/bin/python options=(--no-deps --require-hashes) pip uv
  pip=$("$python" -I -c 'import ensurepip, pathlib, sysconfig
places = [pathlib.Path(ensurepip.__file__).parent / "_bundled", sysconfig.get_config_var("WHEEL_PKG_DIR") or "/"]
print(next(wheel for place in places for wheel in pathlib.Path(place).glob("pip-*.whl")) / "pip")')
  pip=("$python" -I "$pip" install "${options[@]}" --no-input --progress-bar off)
  uv=$(type -P uv) || uv=$home/env/bin/uv
  if ! { [[ -x $uv ]] || run uv 3 "${pip[@]}" --no-compile -r "$root/requirements/uv.lock"; } ||
    ! run "$1" "$2" "$uv" pip install "${options[@]}" --python "$python" "${@:3}"; then
    [[ $(hint) != *disk* ]] || fail "uv could not install the packages"
    say "uv could not be had, or failed (see $log); pip installs the packages, which takes some minutes"
    run "$1 by pip" "$(($2 * 8))" "${pip[@]}" "${@:3}" || fail "the packages could not be installed"
  fi
}

make_packages() {  # the virtual environment, with what the first experiments need
  local env=$home/env site=() locks=(-r "$root/requirements/core.lock" -r "$(ros_lock)") include
  [[ $ros != system ]] || { site=(--system-site-packages) && locks=(-r "$root/requirements/suite.lock"); }
  run "virtual environment" 1 "$python" -I -m venv --without-pip "${site[@]}" "$env" ||
    fail "the virtual environment could not be made"
  install packages 10 "${locks[@]}"
  if [[ $ros != system ]]; then  # their CMake files have paths of the machine that built them
    include=$("$python" -I -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    { grep -rlZE --include='*.cmake' '/opt/python/cp|/usr/lib64/lib' "$env/share" || true; } | xargs -0r sed -Ei \
      -e "s#/opt/python/cp[^/]+/lib/python[^/]+/site-packages#$(echo "$env"/lib/python3*/site-packages)#g" \
      -e "s#/opt/python/cp[^/]+/include/python[0-9.]+t?#$include#g" \
      -e 's#;/usr/lib64/lib[^;"]+\.so##g'  # a library that the wheel brings and links itself
  fi
  { printf 'HAPTICS_PATHS=(%q %q %s)\n' "$home" "$root" "$ros" && cat "$tools/environment.sh.in"; } >"$home/environment.sh"
}

build() {  # TITLE SECONDS PACKAGE ...
  local cmake=()
  [[ $ros != system ]] || cmake=(env "CMAKE_COMMAND=$(type -P cmake)")  # the one that the installation was made for
  inside "$1" "$2" "${cmake[@]}" python -m colcon --log-base /dev/null build --paths "${@:3}" \
    --build-base "$home/build" --install-base "$home/install" --symlink-install --merge-install \
    --event-handlers console_direct+ desktop_notification- \
    --cmake-args -G Ninja "-DPython3_EXECUTABLE=$home/env/bin/python" -DBUILD_TESTING=OFF
}

make_messages() { build messages 9 "${compiled[@]}"; }
# for the other experiments and all other commands
make_rest() { install "more packages" 4 -r "$root/requirements/suite.lock" && build "contact geometry" 6 "$root/src/convex_contact_native"; }
make_links() { inside "Python packages" 1 python -I "$tools/link_packages.py" "$home/install" "${linked[@]}"; }

set_up() {  # [--clean]: makes the parts that are missing
  local python complaint lines line lock log found slowness=100 settings=()
  find_python || die "no usable Python: $complaint" "apt install python3 python3-venv python3-dev, or set HAPTICS_PYTHON"
  mapfile -t lines < <(missing "$python")
  [[ ${1-} != --clean && ${lines[0]-} != packages* ]] || mapfile -t lines < <(wanted "$python")
  if [[ -n ${lines[*]} && ${lines[0]} != links* ]]; then  # something is downloaded or compiled
    found=$("$python" -I "$tools/machine.py" setup "$ros" "$home" "${lines[@]%% *}" 2>&1) ||
      die "${found%%$'\n'*}" "${found#*$'\n'}"
    slowness=${found%% *}
  fi
  mkdir -p "$home/log"
  trap 'stop 1' HUP && trap 'stop 2' INT && trap 'stop 15' TERM
  exec {lock}>>"$home/lock"
  flock -n "$lock" || { say "another setup is at work; waiting for it to finish" && flock "$lock"; }
  [[ ${1-} != --clean ]] || rm -f "$home/stamp"
  mapfile -t lines < <(missing "$python")
  if [[ ${lines[0]-} == packages* ]]; then
    (cd "$home" && rm -rf stamp env install build log/* colcon numba_cache constraints_cache peers stages uv uv_cache)
    mapfile -t lines < <(missing "$python")
  fi
  [[ $(printf '\n%s' "${lines[@]}") != *$'\n'@(packages|rest)\ * ]] || say "setting up the environment in $home: ${found#* }"
  # pip installs nowhere else; uv follows pip's settings
  [[ $ros == system ]] || settings=(-u PYTHONPATH _ROS_WHEELS_BOOTSTRAP_COMPLETE=1)
  settings+=(PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_TARGET= PIP_PREFIX= PIP_ROOT= "COLCON_HOME=$home/colcon")
  settings+=(UV_NO_PROGRESS=1 "UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS-1}" "UV_NATIVE_TLS=${UV_NATIVE_TLS-1}")
  settings+=(${PIP_INDEX_URL:+"UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX-$PIP_INDEX_URL}"})
  settings+=(${PIP_CERT:+"SSL_CERT_FILE=${SSL_CERT_FILE-$PIP_CERT}"})
  [[ -w ${HOME:-/nonexistent} ]] || settings+=("UV_CACHE_DIR=${UV_CACHE_DIR-$home/uv_cache}")
  for line in "${lines[@]}"; do
    [[ ! -e $home/stamp ]] || sed -i "/^${line%% *} /d" "$home/stamp"
    "make_${line%% *}"
    printf '%s\n' "$line" >>"$home/stamp"
  done
  trap - HUP INT TERM && exec {lock}>&-
}
