"""Words beside the name of a person, which show that an ordinary word is a name: `told will`, `rose said`."""

from __future__ import annotations

from inverse_deid.rules.shapes import word_set

BEFORE_PEOPLE = word_set(
    """told tell asked ask called gave saw per mr mrs ms miss mx dr sir prof professor nurse advised advise
    informed thanked phoned rang helped met w"""
)
"""Words after which a word in lower case is a person."""

AFTER_PEOPLE = word_set(
    """was is has had felt feels said says reported reports stated states developed experienced noticed
    called calls denied denies took takes received complained presented recovered vomited needed needs
    started stopped remains remained became began went came did does got fainted died told asked wrote
    lives lived"""
)
"""Words before which a word in lower case is a person, if nothing but a space is between them."""

SPEECH = word_set(
    """agreed asked called complained denied felt gave got had has phoned rang replied reported reports
    said says stated stopped took told vomited went woke wrote"""
)
"""Those of them that neither follow `will` or `may` nor a thing."""

BEFORE_THINGS = word_set(
    """a all an another any both bilateral each every first her his its last left lower my no one other our
    own right same some that the their these this those two upper whose your"""
)
"""Words after which a common word in lower case is a thing: `her hand`."""

GRAMMAR = word_set(
    """about after all and are as at be been before but by can case cases could day days dose down else
    even ever few for from had has have he her here hers him his how if in into is it its just like long
    lot low made make man many may me might mine more most much must my near need never new no non nor
    not now of off on one only or other our out over own pain past per same see seen set she short sharp
    should so some strong still such take than that the their them then there these they this those to
    too two under until up use used very was way we week weeks well were what when where which while who
    why will with worse would year years yet you young your"""
)
"""Words that mean a person only beside a word that shows it: `told will to stop`, `may said`."""
