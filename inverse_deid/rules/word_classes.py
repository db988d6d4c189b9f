"""Small classes of words that explain their neighbours: relations, labels, credentials, units of time.

The network reads one flag per class, and learns what a label means for its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import BoolArray


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text, separated by white space."""
    return frozenset(words.split())


_CLASSES = {
    "is-relation": """
        mother father mom mum mam dad mommy daddy parent parents wife husband spouse partner son
        daughter sister brother sibling twin aunt uncle niece nephew cousin grandmother
        grandfather grandma grandpa gran granny nana grandson granddaughter child baby infant
        girlfriend boyfriend fiance fiancee widow widower friend neighbour neighbor carer
        caregiver guardian roommate colleague coworker boss flatmate nok kin stepmother
        stepfather mil fil hubby gf bf
    """,
    "is-name-label": """
        name surname forename patient pt client signed sign signature cc attn attention
        attending consultant dictated dictating dict typed transcribed reviewed reported
        reporter referring referred physician doctor nurse pharmacist author witness contact
        dear regards sincerely yours faithfully thanks called spoke seen by from re
    """,
    "is-id-label": """
        mrn ssn nhs no nr num number numbers id ids ref reference record account acct licence
        license lic policy member passport medicare medicaid insurance registration reg gmc npi
        dea nmc chi plate vin serial sn case file control mfr manufacturer subject code ticket
        order accession specimen barcode uhid pesel device implant vehicle trial protocol study
        report hic hospital
    """,
    "is-contact-label": """
        tel telephone phone ph fax mob mobile cell call ext extension pager bleep page email
        mail e web website url www http https whatsapp text direct switchboard reach ring rang
        voicemail
    """,
    "is-lot-label": """
        lot batch lots batches expiry exp ch dose doses
    """,
    "is-credential": """
        md rn do phd np pa pac pharmd frcp mrcp mbbs mbchb lpn cnm dds dpm fnp aprn msc frcs spr
        sho mbbch bsc dphil facp frcpath mph cnp crnp rph bpharm registrar consultant gp
        resident fellow intern fy1 fy2 st3 ct2 hcp physio ot slp rd lcsw msw emt
    """,
    "is-time-unit": """
        sec secs second seconds min mins minute minutes hr hrs hour hours h day days d wk wks
        week weeks mo mos month months yr yrs year years y nights night morning evening
        afternoon noon midnight am pm
    """,
    "is-age-word": """
        yo old aged age ages yof yom yr yrs year month mo mos newborn infant toddler teen
        teenager elderly adult male female man woman boy girl m f lady gentleman dob born
        birthday
    """,
    "is-vital-or-score": """
        bp hr rr temp t pulse sats spo2 o2 bpm gcs apgar nyha asa pain power score scale grade
        stage type phase class vision va mmse moca phq gad bmi wt weight ht height hb wbc plt
        crp esr na k cr egfr inr alt ast tsh hba1c ef lvef ph pco2 po2 glucose troponin level
        levels dose x
    """,
    "is-preposition": """
        in at from near to via of on since until till by for with before after between during
        into around near through
    """,
}

WORD_CLASSES: dict[str, frozenset[str]] = {name: word_set(words) for name, words in _CLASSES.items()}
"""Case-folded words of each class, in the order of the feature columns."""


def class_matrix(words: Sequence[str]) -> BoolArray:
    """Tell which classes each word belongs to: bool (n_words, len(WORD_CLASSES))."""
    folded = [word.casefold() for word in words]
    rows = [[word in members for members in WORD_CLASSES.values()] for word in folded]
    return np.array(rows, np.bool_).reshape(len(words), len(WORD_CLASSES))
