"""Write the font of masked PDF files: DejaVu Sans, reduced to the characters of European texts and signs.

Needs fonttools (`pip install fonttools`) and DejaVu Sans 2.37 (https://dejavu-fonts.github.io/).
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).parents[1] / "inverse_deid" / "formats" / "pdf" / "DejaVuSans.ttf"
RANGES = (
    (0x20, 0x7E),
    (0xA0, 0x17F),  # Latin
    (0x218, 0x21B),
    (0x2C6, 0x2DD),
    (0x391, 0x3C9),  # Greek
    (0x2010, 0x2044),  # punctuation
    (0x2070, 0x208E),  # superscripts and subscripts
    (0x20AC, 0x20AC),
    (0x2116, 0x2116),
    (0x2122, 0x2126),
    (0x2153, 0x215E),
    (0x2190, 0x2195),
    (0x2206, 0x2265),  # signs of mathematics
    (0x25A0, 0x25CF),
    (0x2610, 0x2612),
    (0x2713, 0x2717),
)


def main() -> None:
    """Read the font that the only argument names."""
    font = TTFont(sys.argv[1])
    options = subset.Options(layout_features=[], hinting=False, notdef_outline=True, glyph_names=False)
    options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB", "kern"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
    subsetter.subset(font)
    font.save(TARGET)
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
