"""What is made of the seconds that taking a large file in took."""

from bench.intake import _figures

BY_HAND = {"sha256sum": 4.0, "cp": 2.0, "unpack": 5.0, "sha256sum_of_files": 4.0}
TOOK = {"sent_s": 8.0, "checked_s": 22.0, "rss_mb": {"web": 1, "worker": 2}}


def test_a_slow_check_does_not_hide_behind_a_fast_upload() -> None:
    figures = {
        one.name: one for one in _figures({"size_bytes": 1 << 30, "by_hand_s": BY_HAND, "tus": TOOK, "multipart": TOOK})
    }

    sent, ready = figures["tus_throughput_ratio"], figures["tus_ready_ratio"]
    assert (sent.value, ready.value) == (0.75, 0.5)
    assert (sent.is_throughput, ready.is_throughput) == (True, True)
    assert ready.beside == {"MiB/s": 34, "MiB/s by hand": 68}
