import pytest
from icsr_messages import as_part, invent
from icsr_trees import only_case
from lxml import etree

from inverse_deid.formats.icsr.standard.dates import StampDate, earliest, parse_stamp, stamp_with


@pytest.mark.parametrize(
    ("stamp", "date"),
    [
        ("2009", (2009, None, None)),
        ("200901", (2009, 1, None)),
        ("20090131", (2009, 1, 31)),
        ("20090131-0500", (2009, 1, 31)),
        ("200901311430", (2009, 1, 31)),
        ("20090131143015.25+0100", (2009, 1, 31)),
        ("20080229", (2008, 2, 29)),
    ],
)
def test_a_stamp_is_read_as_precise_as_it_is(stamp, date):
    assert parse_stamp(stamp) == StampDate(*date)


@pytest.mark.parametrize(
    "stamp", ["", "20090229", "20091301", "200", "2009-01-31", "31 JAN 2009", "2009013", "0000", "２００９"]
)
def test_what_is_no_stamp_is_none(stamp):
    assert parse_stamp(stamp) is None


@pytest.mark.parametrize(
    ("stamp", "date", "written"),
    [
        ("20090131143015-0500", StampDate(2011, 3, 4), "20110304143015-0500"),
        ("20090131", StampDate(2011, 3), "201103"),
        ("20090131143015-0500", StampDate(2011), "2011"),
        ("200901", StampDate(2011, 3, 4), "201103"),
        ("2009", StampDate(2011, 3, 4), "2011"),
    ],
)
def test_a_written_date_is_no_more_precise_than_it_was(stamp, date, written):
    assert stamp_with(stamp, date) == written


def test_a_known_day_goes_before_a_mere_year():
    assert earliest([StampDate(2008), StampDate(2009, 5, 2), StampDate(2009, 4, 30)]) == StampDate(
        2009, 4, 30
    )
    assert earliest([StampDate(2009, 2), StampDate(2009)]) == StampDate(2009)
    assert earliest([None]) is None


@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_the_dates_of_a_case(dialect):
    given = {"G.k.4.r.4": "20200105", "E.i.4": "20200109", "D.2.1": "19610302", "C.1.4": "20200201"}
    dates = only_case(invent(dialect, given=given).data).dates
    assert dates.first_dose == StampDate(2020, 1, 5)
    assert dates.onset == StampDate(2020, 1, 9)
    assert dates.birth == StampDate(1961, 3, 2)
    assert dates.receipt == StampDate(2020, 2, 1)
    assert len(dates.every) == (22 if dialect == "r3" else 21)


def test_the_first_dose_is_that_of_a_suspect_drug_in_r2():
    xml = "".join(
        f"<drug><drugcharacterization>{role}</drugcharacterization><drugstartdate>{day}</drugstartdate></drug>"
        for role, day in (("2", "20190101"), ("1", "20200105"), ("3", "20200103"), ("4", "20180101"))
    )
    case = only_case(f"<safetyreport><patient>{xml}</patient></safetyreport>".encode())
    assert case.dates.first_dose == StampDate(2020, 1, 3)


def drug_of(seed, day):
    message = etree.fromstring(invent("r3", seed=seed, given={"G.k.4.r.4": day}).data)
    (drug,) = message.xpath("//*[local-name()='organizer'][*[local-name()='code'][@code='4']]/..")
    return as_part(drug)


def test_the_first_dose_is_that_of_a_suspect_drug_in_r3():
    early, late = (drug_of(seed, day) for seed, day in ((98, "20190101"), (99, "20200105")))
    data = invent("r3", given={"G.k.4.r.4": "20200103"}).data.decode()
    data = data.replace("</primaryRole>", f"{early}{late}</primaryRole>")
    assert only_case(data.encode()).dates.first_dose == StampDate(2020, 1, 3)
    concomitant = data.replace('code="1" codeSystem="2.16.840.1.113883.3.989.2.1.1.13"', 'code="2"')
    assert only_case(concomitant.encode()).dates.first_dose == StampDate(2019, 1, 1)


def test_a_date_that_cannot_be_read_is_there_without_a_date():
    dates = only_case(invent("r2", given={"E.i.4": "20201340"}).data).dates
    (onset,) = [date for date in dates.every if date.element == "E.i.4"]
    assert (onset.value, onset.date, dates.onset) == ("20201340", None, None)


def test_no_repr_shows_a_date():
    dates = only_case(invent("r3", given={"D.2.1": "19610302"}).data).dates
    assert "1961" not in repr(dates)
