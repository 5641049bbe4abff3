"""Meshes are read from files by a process of its own, of which each file gets a mesh or an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mesh_contents import PLY, PLY_TEXT, TETRAHEDRON

from convex_contact.model import mesh_files

WEDGE = Path(__file__).with_name("data").joinpath("wedge.stl").read_bytes()


@pytest.mark.parametrize("lines", ["\n", "\r\n"])
def test_a_ply_file_that_lacks_elements_is_refused_before_it_is_read(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "tetrahedron.ply"
    path.write_bytes(PLY_TEXT.replace("\n", lines).encode())
    assert len(mesh_files.read_meshes([path], triangles=True)[0].triangles) == 4
    path.write_bytes(PLY_TEXT[:-16].replace("\n", lines).encode())
    with pytest.raises(ValueError, match=r"tetrahedron\.ply: expected 8 elements after its header, got 6 lines"):
        mesh_files.read_meshes([path])
    path.write_bytes(PLY.replace(b"face 12", b"face 400000") + bytes(300))
    with pytest.raises(ValueError, match=r"tetrahedron\.ply: expected 400008 elements after its header, got 341 bytes"):
        mesh_files.read_meshes([path])


def test_the_first_damaged_mesh_of_several_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut.ply").write_bytes(PLY)
    (tmp_path / "points.obj").write_text("v 0 0 0\nv 1 0 0\n")
    (tmp_path / "good.obj").write_text(TETRAHEDRON)
    paths = [tmp_path / name for name in ("good.obj", "cut.ply", "points.obj")]
    with pytest.raises(ValueError, match=r"cut\.ply: expected a mesh such as STL, OBJ or DAE"):
        mesh_files.read_meshes(paths)
    assert len(mesh_files.read_meshes(paths[:1] * 2)) == 2


def test_a_reader_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text("import time\ntime.sleep(1000)\n")
    monkeypatch.setattr(mesh_files.mesh_process, "__file__", str(program))
    monkeypatch.setattr(mesh_files, "TIME_LIMIT", 0.5)
    path = tmp_path / "wedge.stl"
    path.write_bytes(WEDGE)
    with pytest.raises(ValueError, match=r"wedge\.stl: expected a mesh that can be read in 0\.5 s"):
        mesh_files.read_meshes([path])


def test_a_mesh_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "mesh.obj"
    sizes = []
    for size in (1, 2):
        path.write_text(TETRAHEDRON.replace("v 1", f"v {size}"))
        once, twice = (mesh_files.read_meshes([path])[0] for _ in range(2))
        assert once is twice
        sizes.append(once.vertices.max())
        os.utime(path, ns=(0, 10**9 * size))  # another time, however coarse the clock of the file system
    assert sizes == [1.0, 2.0]


def test_a_mesh_reaches_no_other_file(tmp_path: Path) -> None:
    """An OBJ names a FIFO as its library of materials, which would block its reader for ever."""
    os.mkfifo(tmp_path / "library.mtl")
    path = tmp_path / "mesh.obj"
    path.write_text(f"mtllib library.mtl\n{TETRAHEDRON}")
    assert len(mesh_files.read_meshes([path])[0].vertices) == 4


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{unit}<up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 100 0 0 0 200 0 0 0 300</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


@pytest.mark.parametrize(
    "unit, size",
    [("", 300.0), ('<unit name="meter" meter="1"/>', 300.0), ("<unit meter='0.001' name='millimeter'/>", 0.3)],
)
def test_a_dae_file_in_a_unit_of_its_own_is_read_in_metres(tmp_path: Path, unit: str, size: float) -> None:
    path = tmp_path / "wedge.dae"
    path.write_text(DAE.format(unit=unit))
    (mesh,) = mesh_files.read_meshes([path])
    assert mesh.vertices.max() == pytest.approx(size, rel=1e-6)  # Coal keeps single precision


@pytest.mark.parametrize("meter", ["0", "-1", "nan", "x"])
def test_a_dae_file_with_a_wrong_unit_is_refused(tmp_path: Path, meter: str) -> None:
    path = tmp_path / "wedge.dae"
    path.write_text(DAE.format(unit=f'<unit meter="{meter}"/>'))
    with pytest.raises(ValueError, match=r"wedge\.dae: unit: meter: expected "):
        mesh_files.read_meshes([path])
