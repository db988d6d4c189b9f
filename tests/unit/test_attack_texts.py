"""The texts of the attacks are read strictly, and the same id always gets the same narrative."""

import pytest
from attack_texts import Recall, read_attacks, read_marked_texts, read_marks
from report_attacks import raise_floors, read_csv, write_csv


def write_folder(folder, toml):
    (folder / "some.toml").write_text(toml, encoding="utf-8")
    (folder / "clean.txt").write_text("".join(f"Sign {i} was mild.\n" for i in range(30)), encoding="utf-8")
    return folder


def test_marks_become_ranges():
    text, ranges, types = read_marks("⟦Guy|NAME⟧ fell on ⟦May 3|DATE⟧", "one")
    assert text == "Guy fell on May 3"
    assert [text[start:end] for start, end in ranges] == ["Guy", "May 3"]
    assert types == ("NAME", "DATE")


@pytest.mark.parametrize(
    "marked", ["no mark", "⟦Guy⟧ fell", "⟦Guy|NAME fell", "⟦|NAME⟧ fell", "⟦Guy|NAMES⟧ fell"]
)
def test_a_malformed_mark_is_refused_without_telling_the_text(marked):
    with pytest.raises(ValueError, match="kind-0001") as caught:
        read_marks(marked, "kind-0001")
    assert "Guy" not in str(caught.value)


@pytest.mark.parametrize("toml", ["pets = ['⟦Rex|NAME⟧ bit']", "pet = ['no mark']"])
def test_an_unknown_kind_or_an_unmarked_text_is_refused(tmp_path, toml):
    with pytest.raises(ValueError, match="pet"):
        read_attacks(write_folder(tmp_path, toml))


def test_a_kind_in_two_files_is_refused(tmp_path):
    write_folder(tmp_path, "pet = ['⟦Rex|NAME⟧ bit']")
    (tmp_path / "other.toml").write_text("pet = ['⟦Rex|NAME⟧ barked']", encoding="utf-8")
    with pytest.raises(ValueError, match="another file"):
        read_marked_texts(tmp_path)


def test_narratives_depend_on_the_id_alone(tmp_path):
    folder = write_folder(
        tmp_path, "pet = ['⟦Rex|NAME⟧ bit', '⟦Rex|NAME⟧ bit']\nchat = [\"⟦art|NAME⟧: hi\\nyou: hi\"]"
    )
    long = [attack for attack in read_attacks(folder) if attack.form == "long"]
    assert [attack.id for attack in long] == ["chat-0001", "pet-0001", "pet-0002"]
    assert long == [attack for attack in read_attacks(folder) if attack.form == "long"]
    assert long[1].text != long[2].text
    assert "\nart: hi\nyou: hi\n" in long[0].text
    assert all(8 <= attack.text.count("was mild.") <= 12 for attack in long)


def test_floors_are_rounded_down_and_figures_survive_a_file(tmp_path):
    figures = {
        ("pet", system, form): Recall(3, 2)
        for system in ("careful", "fast", "fast-strict")
        for form in ("alone", "long")
    }
    write_csv(tmp_path / "figures.csv", figures)
    assert read_csv(tmp_path / "figures.csv") == figures
    floors = raise_floors({key: Recall(3, 3) for key in figures})
    assert "pet = { alone = 1.00, long = 1.00 }" in floors
    assert Recall(0, 0).share is None
