"""Limits of control groups, read from trees as the kernel writes them."""

from __future__ import annotations

import pytest

from cosparse.kernels.quota import cpu_quota, memory_left

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 23 0:27 {start} /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 23 0:28 {start} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)
V1_OWN = "3:cpuset:/\n2:cpu,cpuacct:{path}\n1:name=systemd:{path}\n"


@pytest.fixture
def system(tmp_path):
    """A machine's files: what the process is in, what is mounted, and quotas by folder."""

    def build(groups, mounts, files):
        for name, text in {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return build


def v1(folder, quota, period=100000):
    folder = f"sys/fs/cgroup/cpu,cpuacct{folder}"
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    ("text", "cores"),
    [("200000 100000", 2), ("max 100000", None), ("150000 100000", 2), ("5000 100000", 1), ("", None)],
)
def test_version_two(system, text, cores):
    assert cpu_quota(system("0::/app\n", V2, {"sys/fs/cgroup/app/cpu.max": text + "\n"})) == cores


def test_the_tightest_group_above_counts(system):
    limits = {"": "max 100000", "a/": "300000 100000", "a/b/": "100000 20000", "a/b/c/": "max 100000", "z/": "1 100000"}
    files = {f"sys/fs/cgroup/{folder}cpu.max": text for folder, text in limits.items()}
    assert cpu_quota(system("0::/a/b/c\n", V2, files)) == 3


def test_a_container_sees_its_own_group_as_the_top(system):
    files = {"sys/fs/cgroup/cpu.max": "400000 100000"}
    assert cpu_quota(system("0::/\n", V2, files)) == 4
    assert cpu_quota(system("0::/../other\n", V2, files)) == 4  # entered from outside


@pytest.mark.parametrize(("quota", "cores"), [(250000, 3), (-1, None), (0, None)])
def test_version_one(system, quota, cores):
    root = system(V1_OWN.format(path="/job"), V1.format(start="/"), {**v1("", -1), **v1("/job", quota)})
    assert cpu_quota(root) == cores


def test_version_one_in_a_container_under_the_name_it_has_outside(system):
    root = system(V1_OWN.format(path="/docker/1f"), V1.format(start="/docker/1f"), v1("", 120000))
    assert cpu_quota(root) == 2


def test_both_versions_at_once(system):
    unified = "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    root = system(V1_OWN.format(path="/job") + "0::/job\n", V1.format(start="/") + unified, v1("/job", 300000))
    assert cpu_quota(root) == 3


def test_no_control_groups(tmp_path, system):
    assert cpu_quota(tmp_path) is None
    assert cpu_quota(system("", "", {})) is None
    assert cpu_quota(system("not as today\n", V2, {})) is None


# -- memory ----------

FREE = {"proc/meminfo": "MemTotal:  9000000 kB\nMemAvailable:  4000000 kB\n"}


def test_memory_that_the_machine_leaves(system, tmp_path):
    assert memory_left(system("0::/\n", V2, FREE)) == 4_096_000_000
    assert memory_left(tmp_path / "elsewhere") is None


def test_memory_that_a_group_of_version_two_leaves(system):
    own = "sys/fs/cgroup/app/memory"
    files = {
        f"{own}.max": "1000\n",
        f"{own}.current": "700\n",
        f"{own}.stat": "anon 500\nactive_file 50\ninactive_file 150\n",
    }
    above = {"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "900\n"}
    assert memory_left(system("0::/app\n", V2, FREE | files | above)) == 500  # files give way
    tighter = {
        "sys/fs/cgroup/memory.max": "800\n",
        "sys/fs/cgroup/memory.current": "790\n",
        "sys/fs/cgroup/memory.stat": "",
    }
    assert memory_left(system("0::/app\n", V2, FREE | files | tighter)) == 10
    over = {f"{own}.current": "1300\n", f"{own}.stat": "anon 1300\n"}
    assert memory_left(system("0::/app\n", V2, FREE | files | over)) == 0


def test_memory_that_a_group_of_version_one_leaves(system):
    mounts = "34 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    own = "sys/fs/cgroup/memory/job/memory"
    files = {
        f"{own}.limit_in_bytes": "5000\n",
        f"{own}.usage_in_bytes": "1000\n",
        f"{own}.stat": "cache 400\ninactive_file 300\n",
    }
    assert memory_left(system("4:memory:/job\n2:cpu:/x\n", mounts, FREE | files)) == 4300
