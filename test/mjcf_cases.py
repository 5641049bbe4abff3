"""Small MJCF texts, one for each group of features, that MuJoCo and the suite read."""

from __future__ import annotations

#: begins each text without contact, limits of which MuJoCo has soft ones
START = '<mujoco><option timestep="0.001"><flag contact="disable"/></option>'

CHAIN = f"""{START}
<compiler autolimits="true"/>
<worldbody>
  <body name="arm" pos="0.1 0.2 1" euler="10 20 30">
    <joint name="lift" type="slide" axis="0 1 1" ref="0.2" springref="-0.1" stiffness="20"
       damping="0.5" armature="0.1"/>
    <joint name="swing" axis="0 1 0" pos="0.05 0 0.1" ref="15" springref="30" stiffness="5" damping="0.2"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 -0.2" size="0.04"/>
    <body name="hand" pos="0.3 0 -0.2" quat="0.9 0.1 -0.2 0.3">
      <joint name="twist" axis="1 1 0" pos="0 0 0.02" armature="0.02"/>
      <geom type="box" size="0.05 0.1 0.02" mass="0.7"/>
      <body name="tip" pos="0 0.1 0"><geom type="sphere" size="0.03"/></body>
    </body>
  </body>
</worldbody>
<keyframe><key name="there" qpos="0.5 1.2 -0.8" qvel="0.3 -1 2"/></keyframe></mujoco>"""

ORIENTATIONS = f"""{START}
<compiler angle="radian" eulerseq="zYx"/>
<worldbody>
  <body name="a" axisangle="1 2 3 0.7"><joint axis="1 0 0"/><geom type="box" size="0.1 0.2 0.3" euler="0.3 -0.4 0.5"/>
    <body name="b" pos="0 0 0.4" xyaxes="1 1 0 0 1 1"><joint axis="0 1 0"/><geom type="box" size="0.1 0.2 0.3"/>
      <body name="c" pos="0 0.4 0" zaxis="1 -1 0.5"><joint axis="0 0 1"/><geom type="box" size="0.1 0.2 0.3"/>
        <frame pos="0.3 0 0" euler="0.1 0.2 0.3">
          <body name="d" pos="0.1 0 0" euler="0.4 0.5 0.6"><joint axis="1 1 1"/>
            <geom type="cylinder" size="0.1 0.2" zaxis="0 1 0"/></body>
        </frame></body></body></body>
</worldbody>
<keyframe><key qpos="0.1 0.2 0.3 0.4" qvel="1 -1 0.5 2"/></keyframe></mujoco>"""

INERTIAS = f"""{START}
<worldbody>
  <body name="a"><joint axis="1 0 0"/>
    <inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.03 0.04" euler="10 20 30"/>
    <geom type="sphere" size="1"/>
    <body name="b" pos="0 0 0.5"><joint type="slide" axis="0 1 0"/>
      <inertial pos="0 0.1 0" mass="1" fullinertia="0.02 0.03 0.025 0.001 -0.002 0.003"/>
      <body name="c" pos="0.2 0 0" euler="0 0 45"><geom type="box" size="0.1 0.05 0.02" density="500"/></body>
    </body></body>
  <body name="free" pos="3 0 0" euler="0 45 0"><freejoint name="free"/>
    <geom type="box" pos="0.1 0 0" size="0.1 0.05 0.02"/><geom type="sphere" pos="0 0.2 0" size="0.05"/></body>
</worldbody>
<keyframe><key qpos="0.3 0.2 3 1 2 0.8 0.2 0.4 0.1" qvel="1 0.2 0.1 0.2 0.3 1 2 3"/></keyframe></mujoco>"""

GEOMS = f"""{START}
<worldbody>
  <body name="a"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3" pos="0.1 0 0" euler="30 0 0"/></body>
  <body name="b" pos="1 0 0"><freejoint/><geom type="box" fromto="0 0 0 0.1 0.2 0.3" size="0.05"/></body>
  <body name="c" pos="2 0 0"><freejoint/><geom type="ellipsoid" fromto="0 0 0 0.1 0.2 0.3" size="0.05"/></body>
  <body name="d" pos="3 0 0"><freejoint/><geom type="cylinder" fromto="0 0 0 0.1 0.2 0.3" size="0.05" mass="3"/></body>
  <body name="e" pos="4 0 0"><freejoint/><geom type="mesh" mesh="wedge" pos="0.1 0 0" euler="0 30 0"/></body>
  <body name="f" pos="5 0 0"><freejoint/><geom type="mesh" mesh="wedge" mass="2"/><geom size="0.1" group="4"/></body>
</worldbody>
<compiler inertiagrouprange="0 3"/>
<asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 0.5" scale="0.1 0.2 -0.3" refpos="0.1 0.2 0.3"
  refquat="0.9 0.1 0.2 0.3"/></asset>
</mujoco>"""

BALL = f"""{START}
<worldbody>
  <body name="a" pos="0 0 1" euler="10 0 0">
    <joint name="ball" type="ball" pos="0 0 0.1" damping="0.1" stiffness="3" armature="0.05"/>
    <geom type="box" size="0.1 0.05 0.2" pos="0.05 0 -0.2"/>
    <body name="b" pos="0 0 -0.4"><joint axis="0 1 0"/><geom type="capsule" size="0.03 0.1" pos="0 0 -0.1"/></body>
  </body>
</worldbody>
<keyframe><key qpos="0.9 0.1 0.2 -0.3 0.5" qvel="1 -2 3 0.5"/></keyframe></mujoco>"""

FREE = f"""{START}
<worldbody>
  <body name="a" pos="0 0 1" euler="10 0 0"><joint type="free" damping="0.4"/>
    <geom type="box" size="0.1 0.05 0.2" pos="0.05 0 0"/>
    <body name="b" pos="0 0 -0.3"><joint axis="0 1 0"/><geom type="capsule" size="0.03 0.1" pos="0 0 -0.1"/></body>
  </body>
  <body name="c" pos="1 0 1" euler="10 0 0"><joint name="root" type="free" damping="0.1" stiffness="9" armature="0.3"/>
    <geom type="box" size="0.1 0.05 0.2" pos="0.05 0 0"/>
    <body name="d" pos="0 0 -0.3"><joint axis="0 1 0"/><geom type="capsule" size="0.03 0.1" pos="0 0 -0.1"/></body>
  </body>
</worldbody>
<keyframe><key qpos="0.1 0.2 1 0.9 0.1 0.2 -0.3 0.5 1.1 0.2 0.9 0.7 0.1 0.2 -0.4 0.2"
  qvel="1 -1 0.5 1 -2 3 0.5 0.4 0.3 0.2 -1 1 2 0.7"/></keyframe></mujoco>"""

CLASSES = f"""{START}
<default>
  <geom type="capsule" size="0.05 0.2" density="800"/>
  <joint axis="0 1 0" damping="0.3"/>
  <default class="thin"><geom size="0.02"/><joint armature="0.1" stiffness="4"/>
    <default class="thick"><geom size="0.08" quat="0.7 0.7 0 0"/></default></default>
</default>
<worldbody>
  <body name="a" childclass="thin"><joint/><geom/>
    <body name="b" pos="0 0 0.5"><joint damping="0.1"/><geom class="thick" euler="0 0 0"/>
      <body name="c" pos="0 0 0.5" childclass="thick"><joint class="thin"/><geom/>
        <frame childclass="main"><body name="d" pos="0 0 0.5"><joint/><geom/></body></frame></body></body></body>
</worldbody>
<keyframe><key qpos="0.1 0.2 0.3 0.4" qvel="0.1 0.2 0.3 0.4"/></keyframe></mujoco>"""

BOUNDS = f"""{START}
<compiler boundmass="0.5" boundinertia="0.003" balanceinertia="true" inertiafromgeom="auto"/>
<worldbody>
  <body name="a"><joint axis="1 0 0"/><geom size="0.05"/>
    <body name="b" pos="0 0 0.5"><joint axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.01 0.01"/></body>
  </body>
</worldbody>
<keyframe><key qpos="0.1 0.2" qvel="1 2"/></keyframe></mujoco>"""

ACTUATORS = f"""{START}
<worldbody>{
    "".join(
        f'<body name="b{i}" pos="{i} 0 0"><joint name="j{i}" axis="0 1 0"/>'
        f'<geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/></body>'
        for i in range(12)
    )
}</worldbody>
<default><default class="soft"><position kp="12"/></default></default>
<actuator>
  <motor name="motor" joint="j0" gear="2"/>
  <motor name="clamped" joint="j1" ctrlrange="-1 0.5"/>
  <motor name="limited" joint="j2" gear="3" forcerange="-0.2 0.1"/>
  <position name="position" joint="j3" kp="30" kv="2"/>
  <velocity name="velocity" joint="j4" kv="3"/>
  <damper name="damper" joint="j5" kv="3" ctrlrange="0 2"/>
  <general name="general" joint="j6" gainprm="2 0.5" gaintype="affine" biastype="affine"
    biasprm="0.5 -20 -1" gear="0.5"/>
  <general name="filter" joint="j7" dyntype="filter" dynprm="0.1" gainprm="5"/>
  <general name="exact" joint="j8" dyntype="filterexact" dynprm="0.2" gainprm="5"/>
  <general name="integrator" joint="j9" dyntype="integrator" gainprm="5" actlimited="true" actrange="-0.2 0.3"/>
  <intvelocity name="intvelocity" joint="j10" kp="20" kv="1" actrange="-1 1"/>
  <position name="soft" class="soft" joint="j11" ctrlrange="-0.3 0.3"/>
</actuator>
<keyframe><key qpos="0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 1.1" qvel="1 1 1 1 1 1 1 1 1 1 1 1" act="0.2 -0.1 0 0.5"
  ctrl="0.5 0.8 0.9 -0.4 0.7 1.5 0.6 0.9 -0.8 0.7 0.4 0.9"/></keyframe></mujoco>"""

TENDONS = f"""{START}
<worldbody>
  <body name="a"><joint name="one" axis="0 1 0"/><geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/></body>
  <body name="b" pos="1 0 0"><joint name="two" axis="0 1 0" springref="20"/>
    <geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/>
    <body name="c" pos="0 0 -0.4"><joint name="three" type="slide" axis="0 0 1"/><geom size="0.1"/></body></body>
</worldbody>
<tendon>
  <fixed name="spring" stiffness="30" damping="0.4" springlength="0.2"><joint joint="one" coef="1"/>
    <joint joint="three" coef="-2"/></fixed>
  <fixed name="rest" stiffness="5"><joint joint="two" coef="0.5"/><joint joint="one" coef="-1"/></fixed>
</tendon>
<actuator><motor tendon="spring" gear="2"/><position tendon="rest" kp="3"/></actuator>
<keyframe><key qpos="0.1 0.2 0.3" qvel="0.4 -0.5 0.6" ctrl="0.7 0.5"/></keyframe></mujoco>"""

EQUALITIES = f"""{START}
<default><equality solref="0.004 1" solimp="0.999 0.9999 0.001"/></default>
<worldbody>
  <body name="a"><joint name="one" axis="0 1 0" ref="10"/><geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/></body>
  <body name="b" pos="1 0 0"><joint name="two" axis="0 1 0" ref="-5"/>
    <geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/></body>
  <body name="c" pos="2 0 0"><joint name="three" axis="0 1 0" damping="0.2"/>
    <geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/></body>
  <body name="d" pos="3 0 0"><joint name="four" axis="0 1 0"/><geom type="capsule" size="0.05 0.2" pos="0 0 -0.2"/>
    <body name="e" pos="0 0 -0.4"><joint name="five" axis="0 1 0"/>
      <geom type="capsule" size="0.05 0.1" pos="0 0 -0.1"/></body></body>
</worldbody>
<tendon><fixed name="sum"><joint joint="four" coef="1"/><joint joint="five" coef="0.5"/></fixed></tendon>
<equality>
  <joint joint1="one" joint2="two" polycoef="0 -0.5 0 0 0"/>
  <joint joint1="three" joint2="two" polycoef="0.05 0.3 0.4 -0.1 0"/>
  <tendon tendon1="sum" polycoef="0 1 0 0 0"/>
</equality>
<keyframe><key qpos="0.1745329 -0.0872665 0.05 0.1 -0.2" qvel="0.4 -0.8 -0.24 0.5 -1"/></keyframe></mujoco>"""

WELDS = f"""{START}
<default><equality solref="0.004 1" solimp="0.999 0.9999 0.001"/></default>
<worldbody>
  <body name="a"><joint name="one" axis="0 1 0"/>
    <geom type="capsule" size="0.05 0.2" pos="0.2 0 0" euler="0 90 0"/></body>
  <body name="b" pos="0.5 0 0"><joint name="two" axis="0 1 0" pos="0.4 0 0"/>
    <geom type="capsule" size="0.05 0.2" pos="0.2 0 0" euler="0 90 0"/></body>
  <body name="c" pos="0 0 1"><freejoint name="c"/><geom type="box" size="0.1 0.2 0.3" pos="0.05 0 0"/></body>
  <body name="d" pos="0 1 1" euler="0 0 20"><freejoint name="d"/><geom type="box" size="0.1 0.2 0.3"/>
    <site name="corner" pos="0.1 0.2 0.3"/></body>
  <body name="hook" pos="0 1 1"><site name="hook" pos="-0.1 -0.2 0.3" euler="0 0 20"/></body>
</worldbody>
<equality>
  <connect body1="a" body2="b" anchor="0.45 0 0"/>
  <weld body1="c" anchor="0.1 0 0" torquescale="0.5"/>
  <connect site1="hook" site2="corner"/>
</equality>
<keyframe><key qpos="0 0 0 0 1 1 0 0 0 -0.12556523 0.57785947 1 0.9848078 0 0 0.1736482"
  qvel="0 0 0 0 0 0 0 0 0 0 0 0 0 0"/>
</keyframe></mujoco>"""

#: text, largest difference of the positions after the motion [m]
CASES: dict[str, tuple[str, float]] = {
    "chain": (CHAIN, 3e-6),
    "orientations": (ORIENTATIONS, 1e-5),
    "inertias": (INERTIAS, 1e-5),
    "geoms": (GEOMS, 1e-6),
    "ball": (BALL, 1e-5),
    "free": (FREE, 1e-5),
    "classes": (CLASSES, 1e-6),
    "bounds": (BOUNDS, 1e-6),
    "actuators": (ACTUATORS, 1e-4),
    "tendons": (TENDONS, 5e-5),
    "equalities": (EQUALITIES, 1e-4),
    "welds": (WELDS, 1e-2),
}
#: length of the motion [s]
DURATION = 0.2
