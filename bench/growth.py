"""Does a figure stay constant as the account grows, or does it grow with it? The simplest curve that fits."""

from dataclasses import dataclass

Points = list[tuple[float, float]]
CONSTANT_SPREAD = 0.25
"""A figure that varies by less than a quarter of itself, over sizes that differ a hundredfold, is constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """y = `base` + `slope` * x. `shape` is constant or linear; `off` is the largest relative distance from the curve."""

    shape: str
    base: float
    slope: float
    off: float

    def in_words(self, unit: str = "") -> str:
        """Write the curve."""
        if self.shape == "constant":
            return f"constant: {self.base:,.1f}{unit} (at most {100 * self.off:.0f} % off)"
        return f"linear: {self.base:,.1f} + {self.slope:,.4g} x size{unit} (at most {100 * self.off:.0f} % off)"


def fit(points: Points) -> Fit:
    """Fit a constant if that will do, else a line (least squares). Raises ValueError for fewer than two points."""
    if len(points) < 2:
        raise ValueError(f"{len(points)} points show no growth; measure at two sizes at least.")
    ys = [y for _, y in points]
    middle = sum(ys) / len(ys)
    if max(ys) - min(ys) <= CONSTANT_SPREAD * abs(middle):
        return Fit(shape="constant", base=middle, slope=0.0, off=_off(points, middle, 0.0))
    xs = [x for x, _ in points]
    mean_x = sum(xs) / len(xs)
    over = sum((x - mean_x) ** 2 for x in xs)
    slope = sum((x - mean_x) * (y - middle) for x, y in points) / over
    base = middle - slope * mean_x
    return Fit(shape="linear", base=base, slope=slope, off=_off(points, base, slope))


def _off(points: Points, base: float, slope: float) -> float:
    return max(abs(y - base - slope * x) / abs(y) if y else 0.0 for x, y in points)
