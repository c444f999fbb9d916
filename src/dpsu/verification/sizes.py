"""The noisy histogram of set sizes of `auto`, from which its rule and the cut of counts follow."""

import math
from collections.abc import Sequence

SIZES = [1, 2, 3, 4.5, 7, 12, 23, 55, 170, 550, 2000]
"""The size that stands for each bin."""


def clear_of(users: Sequence[int], scale: float) -> list[int] | None:
    """The histogram without bins that noise of this scale explains; None if there are too few users to tell."""
    clear = [count if count > 3.5 * scale else 0 for count in users]
    told = sum(users) >= 5 * math.sqrt(2 * len(users)) * scale and any(clear)
    return clear if told else None
