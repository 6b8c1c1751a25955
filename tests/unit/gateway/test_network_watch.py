"""Another way out of the machine is noticed, its neighbours are not."""

from pathlib import Path

import pytest

from hermes_desktop.gateway.platforms.machine_watch import NetworkWatch

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
WLAN = "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
CABLE = "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
TUNNEL = "tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0\n"
BRIDGE = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
ZERO = "0" * 32
IPV6 = f"{ZERO} 00 {ZERO} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003    wlan0\n"
LOOP = f"{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 00000001 00000000 00200200       lo\n"


@pytest.mark.parametrize(
    ("routes", "ipv6", "differs"),
    [
        (HEAD + WLAN, "", False),
        (HEAD + WLAN.replace("\t0\t0\t600", "\t2\t9\t700") + BRIDGE, LOOP, False),
        (HEAD + CABLE, "", True),
        (HEAD + WLAN + TUNNEL, "", True),
        (HEAD + WLAN, IPV6, True),
        (HEAD, "", True),
        ("", "", True),
        ("what\nis\tthis \x00", "?" * 500, True),
    ],
)
def test_what_counts(tmp_path: Path, routes: str, ipv6: str, differs: bool) -> None:
    tmp_path.joinpath("route").write_text(HEAD + WLAN)
    watch = NetworkWatch(tmp_path)
    assert not watch.look()

    tmp_path.joinpath("route").write_text(routes)
    tmp_path.joinpath("ipv6_route").write_text(ipv6)

    assert watch.look() is differs
    assert not watch.look()


def test_without_the_files_nothing_changes(tmp_path: Path) -> None:
    watch = NetworkWatch(tmp_path / "none")

    assert not watch.look()


def test_the_machine_itself_can_be_looked_at() -> None:
    NetworkWatch().look()
