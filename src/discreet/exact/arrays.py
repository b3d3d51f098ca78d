"""Array types by their element."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
# integers without limit
BigIntArray: TypeAlias = npt.NDArray[np.object_]
