"""Says whether a screenshot shows a window with something in it. Run: look_at_picture.py FILE.

A picture of one flat colour, or of the wrong size, ends with exit code 1: a program may save an
empty window and still exit 0.
"""

import sys

from PySide6.QtGui import QImage

SMALLEST = (720, 480)
FEWEST_COLOURS = 64


def main(path: str) -> int:
    """Look at one picture."""
    image = QImage(path)
    if image.isNull():
        print(f"{path}: not a picture")
        return 1
    width, height = image.width(), image.height()
    step = max(1, min(width, height) // 200)
    colours = {image.pixel(x, y) for x in range(0, width, step) for y in range(0, height, step)}
    print(f"{path}: {width} × {height}, {len(colours)} colours at every {step}. pixel")
    large_enough = width >= SMALLEST[0] and height >= SMALLEST[1]
    return 0 if large_enough and len(colours) >= FEWEST_COLOURS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
