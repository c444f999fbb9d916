"""The study of counts judges releases as docs/counts.md says."""

from experiments.counts_study import hospital, judge

import dpsu

HOW = {"keys": range(1, 2), "algorithm": "focused-gaussian"}


def test_more_noise_puts_more_counts_off_and_keeps_more_items() -> None:
    frame = hospital(patients=8000)
    (little,) = judge(frame, dpsu.Counts(share=0.01, raw=True), sums=False, **HOW)
    (much,) = judge(frame, dpsu.Counts(share=0.5, raw=True), sums=True, **HOW)
    assert little.off > much.off
    assert 0 < much.kept < little.kept <= 1.1
    assert little.within == 1
