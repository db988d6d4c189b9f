"""A web page with everything that a page can hide."""

from __future__ import annotations

from collections.abc import Callable

Canary = Callable[[], str]


def hostile(t: Canary, h: Canary) -> str:
    """Return a page with a value of `t` wherever there is text, and one of `h` in all other places."""
    return (
        f'<!DOCTYPE html PUBLIC "{h()}"><!-- {h()} --><?php {h()} ?><html lang="{h()}" data-x="{h()}"><head><meta charset="utf-8">'
        f'<title>{h()}</title><meta name="author" content="{h()}"><base href="https://example.org/{h()}"><style>.a{{content:"{h()}"}}</style>'
        f'<link rel="{h()}" href="{h()}"><script src="{h()}">var x = "{h()}";</script></head><body onload="{h()}" class="{h()}">'
        f"plain {t()} was seen by Zebu<b>lon</b>ova again"
        f'<h1 id="{h()}" title="{h()}">heading {t()}</h1><p style="font:{h()}">text {t()}<!-- {h()} --> and <a href="mailto:{h()}" '
        f'download="{h()}">link {t()}</a></p><div style="display:none" aria-label="{h()}">hidden {t()}</div>'
        f'<p hidden>hidden {t()}</p><p style="color:#fff;font-size:1px">white {t()}</p>'
        f'<img src="{h()}" alt="{h()}" title="{h()}" srcset="{h()}"><svg><title>{h()}</title><text>drawn {t()}</text></svg><math><mi>{t()}</mi></math>'
        f'<form action="{h()}"><label for="{h()}">label {t()}</label><input name="{h()}" value="{t()}" placeholder="{h()}">'
        f'<input type="hidden" value="{h()}"><input type="password" value="{h()}"><input type="checkbox" value="{h()}" checked>'
        f'<textarea>{t()}</textarea><select><option value="{h()}">{h()}</option><option selected>{t()}</option></select><button value="{h()}">{t()}</button></form>'
        f'<table summary="{h()}"><caption>caption {t()}</caption><colgroup span="{h()}"></colgroup><thead><tr><th scope="{h()}" abbr="{h()}">head {t()}</th></tr>'
        f'</thead><tr><td colspan="{h()}" rowspan="2" bgcolor="{h()}">cell {t()}</td></tr></table>'
        f'<ul><li value="{h()}">item {t()}</li></ul><dl><dt>term {t()}<dd>meaning {t()}</dl><blockquote cite="{h()}">quote {t()}</blockquote>'
        f'<iframe src="{h()}">{h()}</iframe><object data="{h()}">{h()}</object><embed src="{h()}"><video><track label="{h()}">{h()}</video>'
        f"<template>{h()}</template><noscript>spoken {t()}</noscript><{h()}>unknown {t()}</{h()}><o:p>word {t()}</o:p>"
        f"<![CDATA[{h()}]]><pre>kept\n  {t()}</pre><del cite='{h()}'>gone {t()}</del><time datetime='{h()}'>time {t()}</time>"
        f'<area alt="{h()}"><param value="{h()}"><script type="application/ld+json">{{"name": "{h()}"}}</script></body></html><!-- {h()} -->'
    )
