"""The normal variates behind the noise, for oracles that add them up themselves."""

import numpy as np

from dpsu.kernels.noise import normal_quantile


def computed_normals(words):
    """The normal quantile of each uniform that begins with one of these words, and how far its other bits can move it."""
    pairs = [normal_quantile(np.uint64(word)) for word in words]
    normals, widths = np.array(pairs).T.reshape(2, -1)
    return normals, widths
