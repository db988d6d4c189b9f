"""RTF files written by hand, with everything that RTF hides."""

from __future__ import annotations

from collections.abc import Callable

Canary = Callable[[], str]

HEAD = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fnil\fcharset204 Times;}}"


def of_text(text: str) -> bytes:
    """Return a file that shows a text."""
    shown = "".join(
        {"\\": "\\\\", "{": "\\{", "}": "\\}", "\t": "\\tab ", "\n": "\\par\r\n"}.get(sign)
        or (sign if sign.isascii() else _unicode(sign))
        for sign in text
    )
    return f"{HEAD}\\pard\\fs22 {shown}\\par}}".encode()


def _unicode(sign: str) -> str:
    data = sign.encode("utf-16-le")
    units = (int.from_bytes(data[i : i + 2], "little", signed=True) for i in range(0, len(data), 2))
    return "".join(f"\\u{unit}?" for unit in units)


def hostile(t: Canary, h: Canary) -> bytes:
    """Return a file with a value of `t` wherever there is text, and one of `h` in all other places."""
    return (
        rf"{{\rtf1\ansi\ansicpg1252\deff0{{\fonttbl{{\f0\fswiss\fcharset0 {h()};}}{{\f1\fnil\fcharset204{{\*\falt {h()}}}T;}}}}"
        rf"{{\colortbl;\red0\green0\blue0;}}{{\stylesheet{{\s0 {h()};}}{{\*\cs10 \additive {h()};}}}}"
        rf"{{\*\listtable{{\list{{\listlevel{{\leveltext {h()};}}}}{{\listname {h()};}}}}}}{{\*\revtbl {{{h()};}}}}"
        rf"{{\*\rsidtbl \rsid{1}}}{{\*\generator {h()};}}{{\info{{\title {h()}}}{{\author {h()}}}{{\operator {h()}}}"
        rf"{{\*\company {h()}}}{{\doccomm {h()}}}{{\*\hlinkbase {h()}}}}}{{\*\userprops {{\propname {h()}}}\proptype30{{\staticval {h()}}}}}"
        rf"{{\*\xmlnstbl {{\xmlns1 {h()};}}}}{{\*\docvar {{{h()}}}{{{h()}}}}}{{\*\passwordhash {h()}}}{{\*\template {h()}}}"
        rf"{{\*\themedata {h()}}}{{\*\datastore {h()}}}{{\*\unknown {h()}}}{{\*\ftnsep {h()}}}"
        rf"{{\header\pard top {t()}\par}}{{\headerf first {t()}}}{{\footer bottom {t()}}}"
        rf"\sectd\pard plain {t()} was seen by Zebu{{\b lon}}ova{{\super\chftn}}{{\footnote\pard\chftn noted {t()}}} again\par "
        rf'{{\field{{\*\fldinst HYPERLINK "https://example.org/{h()}" \\o "{h()}"}}{{\fldrslt linked {t()}}}}} '
        rf"{{\field{{\*\fldinst MERGEFIELD {h()}{{\*\datafield {h()}}}}}{{\fldrslt merged {t()}}}}}"
        rf"{{\*\bkmkstart {h()}}}marked {t()}{{\*\bkmkend {h()}}}{{\*\atnid {h()}}}{{\*\atnauthor {h()}}}"
        rf"\chatn{{\*\annotation{{\*\atndate {h()}}}{{\*\atnref 1}} comment {t()}}}\par "
        rf"{{\deleted\revauthdel1 gone {h()}}}{{\revised\revauth1 inserted {t()}}} {{\v hidden {t()}}} {{\cf2\fs2 small {t()}}}\par "
        rf"{{\pict{{\*\picprop{{\sp{{\sn wzDescription}}{{\sv {h()}}}}}}}\pngblip 89504e47}}{{\pict\bin12 }}}}{h()[:10]:10}}}"
        rf"{{\object\objemb{{\*\objclass {h()}}}{{\*\objname {h()}}}{{\*\objdata 0105}}{{\result {h()}}}}}"
        rf"{{\shp{{\*\shpinst\shpleft0{{\sp{{\sn wzName}}{{\sv {h()}}}}}{{\shptxt boxed {t()}\par}}}}{{\shprslt {h()}}}}}"
        rf"\trowd\cellx100\cellx200\intbl left {t()}\cell right {t()}\cell\row\pard "
        rf"{{\*\xe {h()}}}{{\tc {h()}}}{{\*\formfield{{\*\ffname {h()}}}{{\*\ffhelptext {h()}}}}}{{\pntext {h()}}}"
        rf"{{\upr{{ansi {h()}}}{{\*\ud{{unicode {t()}}}}}}}\par last {t()}\par}}{h()}"
    ).encode()
