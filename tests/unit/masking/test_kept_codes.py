"""Columns as public line listings name and fill them: codes pass, and no column name hides a person."""

from datetime import date

import pytest

from inverse_deid.core.errors import KeptColumnError
from inverse_deid.engine.masker import check_kept
from inverse_deid.formats.records import Record
from inverse_deid.formats.tables.columns import is_age_column, words_of
from inverse_deid.formats.tables.kept_cells import KeptCell, make_key_cell
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.kept.forms import judge_form
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode

KEY = b"an invented key of 27 bytes"

CODES = {
    "V_ADMINBY": "PVT|PUB|UNK|OTH|SEN|WRK|MIL|SCH|PHM",
    "VAX_TYPE": "COVID19|FLU4|HPV9|VARZOS|MMR|TDAP|PPV|RAB|HIBV|MENB|HEP|DTAP",
    "VAX_MANU": "PFIZER\\BIONTECH|MODERNA|JANSSEN|SANOFI PASTEUR|MERCK & CO. INC.|UNKNOWN MANUFACTURER|SEQIRUS, INC.",
    "VAX_LOT": "EL3248|025L20A|UJ446AA|3AB25A1A|Unknown|ASKU",
    "VAX_ROUTE": "IM|SC|ID|IN|OT|SYR|UN|PO|JET",
    "VAX_SITE": "LA|RA|LL|RL|AR|LG|UN|GM|MO",
    "STATE": "TX|OR|New York|District of Columbia|Puerto Rico|NSW",
    "SYMPTOM1": "Fall|Rash|Chills|Injection site erythema|Bell's palsy",
    "i_f_code": "I|F",
    "rept_cod": "EXP|PER|DIR|5DAY",
    "mfr_sndr": "ROCHE|NOVARTIS|BAYER|TEVA|ABBVIE|MERCK|BOEHRINGER INGELHEIM|FDA-CTU",
    "age_cod": "YR|MON|DY|DEC|WK|HR",
    "wt_cod": "KG|LBS",
    "occp_cod": "MD|CN|PH|OT|LW|HP|RN",
    "outc_cod": "DE|LT|HO|DS|CA|RI|OT",
    "rpsr_cod": "FGN|SDY|LIT|CSM|HP|UF|CR|DT|OTH",
    "role_cod": "PS|SS|C|I",
    "drugname": "HUMIRA|YASMIN|ZOMETA|LYRICA|ASPIRIN /00002701/|PREDNISONE TABLETS, 10 MG",
    "prod_ai": "ADALIMUMAB|AMOXICILLIN\\CLAVULANATE POTASSIUM",
    "dose_vbm": "40 MG, EVERY 2 WEEKS|1 DF, QD|500 MG, BID|40 MG, Q2WEEKS|0.3 ML, SINGLE|2 TABLETS TWICE A DAY",
    "dose_unit": "MG|DF|MG/KG|MG/M**2|GTT",
    "dose_freq": "QD|BID|QOW|Q3W|PRN",
    "pt": "Headache|Fall|Stevens-Johnson syndrome|Hodgkin's disease|Product dose omission issue",
    "dur_cod": "DAY|WK|MON|YR",
    "WHODrug code": "000027 01 001|00002701001",
    "test_unit": "g/dL|U/L|10*9/L|x10^9/L|mm[Hg]|%",
    "reference_range": "12-16|3.5-5.1|<5|0.5 - 1.2 mg/dL",
    "birth_weight": "3200|3.2 kg|3200 g",
    "birth_defect": "Yes|Cleft palate",
    "race": "White|Black|Asian",
    "ethnicity": "Hispanic or Latino|Not Hispanic or Latino",
    "country": "Deutschland|Frankreich|Allemagne|España|Royaume-Uni|Estados Unidos|Hong Kong|Iran (Islamic Republic of)|GBR",
    "region": "Asia-Pacific|LATAM|EMEA|Midwest",
    "language": "German|Deutsch|en-GB|fr",
    "priority": "High|Low|expedited",
    "causality_method": "Naranjo|WHO-UMC",
    "study_number": "NCT04368728|2020-002641-42",
    "protocol": "C4591001|D8110C00001|MK-3475-001",
    "ndc": "0069-0187-21|59267-1000-01",
    "loinc": "718-7|94500-6",
    "cas": "331731-18-1",
    "stage": "IIIB|T2N0M0",
    "visit": "Visit 1|Week 4|Day 29|Screening",
    "arm": "Placebo|Arm A",
    "receiptdateformat": "102",
    "patientonsetageunit": "801",
    "drugbatchnumb": "C123456|UNKNOWN",
    "Time to onset": "2 days|5 hours",
}

PEOPLE = {
    "code": "Okonkwo|Ada|ADA|Ada1|A.O.",
    "lot": "ADA12|TOM04|MARY1|Okonkwo",
    "drug": "Ada|Mary Smith|Grace|given by Ada|ask Tom",
    "drugname": "Ada|Ava|Charlotte|OKONKWO\\ADA|ADA /00002701/",
    "manufacturer": "Ada|Smith|Okonkwo Ltd",
    "country": "ADA|Chad Smith|London",
    "state": "SMI|LEE|KIM|Leeds",
    "VAX_TYPE": "ADA|SMITH",
    "pt": "Smith|Ada|Mary fell",
    "dose": "20 mg by Ada|1 tab (Ada)|20 mg from 12 Oct|5 mg 12/10/2019|A G 43",
    "dose_unit": "Ada|mg Ada",
    "race": "Smith",
    "visit": "12 Oct|Ada",
    "protocol": "Ada-1|Okonkwo|MRN4471922|AO4471922",
    "patientbirthdate": "1962|196205|62",
    "dateofbirth": "1962|12",
    "byear": "62",
    "birth_weight": "1962-05-12|12/05/62",
    "subj_init": "AO",
    "ptinit": "AO",
    "patientinitial": "AO",
    "patientname": "AO",
    "patient": "AO|71234",
    "nhsno": "123456",
    "hospitalno": "71234",
    "patno": "71234",
    "subjid": "71234",
    "patientgpmedicalrecordnumb": "71234",
    "contact": "555-1234",
    "room": "12",
    "x": "555-1234|4960000|51.5034 -0.1276|43Y|P94Y|94yo|M/94|F94|516mo|94a|43 ans",
    "date": "285|day 285|Week 41|19",
    "age_group": "94|90-94|45 - 64 years",
    "whodrug": "07700900123",
    "age_unit": "94",
}


@pytest.fixture(scope="module")
def kept():
    settings = CaseSettings(
        today=date(2024, 1, 1), key=KEY, dates=DateMode("shift"), ages=AgeMode("keep-under-90")
    )
    return check_kept(CaseMasker(build_deidentifier(MaskingSettings()), settings), "row")


@pytest.mark.parametrize("column", CODES)
def test_codes_of_line_listings_pass(kept, column):
    cells = tuple(KeptCell(column, value) for value in CODES[column].split("|"))
    kept.judge([Record(2, kept=cells)])


@pytest.mark.parametrize(
    ("column", "value"), [(column, value) for column, values in PEOPLE.items() for value in values.split("|")]
)
def test_people_are_refused_whatever_the_column_is_called(kept, column, value):
    with pytest.raises(KeptColumnError) as error:
        kept.judge([Record(2, kept=(KeptCell(column, value),))])
    assert value not in str(error.value).replace(repr(column), "")


@pytest.mark.parametrize(
    "column",
    [
        "patientonsetage",
        "patientage",
        "ageyears",
        "ageyr",
        "CAGE_YR",
        "ageatonset_months",
        "años",
        "ÂGE",
        "years",
        "yrs",
    ],
)
def test_an_age_is_found_whatever_its_column_is_called(column):
    assert judge_form(KeptCell(column, "94"), None).sort == "age"
    assert is_age_column(column)


@pytest.mark.parametrize("column", ["receivedate", "drugstartdate", "RECVDATE", "event_dt", "datetime"])
def test_a_date_is_found_whatever_its_column_is_called(column):
    assert judge_form(KeptCell(column, "20191012"), None).sort == "date"


@pytest.mark.parametrize(
    "column", ["dosage", "stage", "percentage", "language", "update", "liquid", "weekend", "rapid"]
)
def test_a_word_is_not_taken_apart_where_its_parts_are_no_words_of_names(column):
    assert words_of(column) == {column}


@pytest.mark.parametrize("key", ["patientonsetage", "receiptdateformat", "patientbirthdate", "drugbatchnumb"])
def test_a_key_of_joined_words_passes(kept, key):
    kept.judge([Record(2, kept=(make_key_cell("report", key),))])


@pytest.mark.parametrize("key", ["Ada Okonkwo", "adaokonkwo", "okonkwoage", "Ada", "age 94", "date 2019"])
def test_a_key_with_a_person_is_refused(kept, key):
    with pytest.raises(KeptColumnError):
        kept.judge([Record(2, kept=(make_key_cell("report", key),))])
