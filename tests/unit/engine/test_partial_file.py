import errno
import hashlib
import stat

import pytest
from refusals import refuses

from inverse_deid.core.errors import InputError, OutputError
from inverse_deid.core.files import PartialFile, WrittenState, output_errors, partial_path


def test_a_file_has_its_name_only_when_it_is_complete(tmp_path):
    target = tmp_path / "deep" / "a.txt"
    file = PartialFile(target)
    file.write(b"masked")
    state = file.sync()
    assert not target.exists()
    assert partial_path(target).read_bytes() == b"masked"
    assert state == WrittenState(6, hashlib.sha256(b"masked").hexdigest())
    file.commit()
    assert target.read_bytes() == b"masked"
    assert not partial_path(target).exists()


def test_a_discarded_file_leaves_nothing(tmp_path):
    target = tmp_path / "a.txt"
    target.write_bytes(b"older")
    file = PartialFile(target)
    file.write(b"x")
    file.discard()
    assert file.write(b"late") == 4
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_bytes() == b"older"


def test_a_private_file_is_private_from_its_first_byte(tmp_path):
    file = PartialFile(tmp_path / "a", private=True)
    assert stat.S_IMODE(partial_path(tmp_path / "a").stat().st_mode) == 0o600
    file.commit()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_link_at_the_partial_name_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    partial_path(tmp_path / "a").symlink_to(victim)
    file = PartialFile(tmp_path / "a")
    file.write(b"x")
    file.commit()
    assert victim.read_bytes() == b"precious"


def begun(target) -> WrittenState:
    file = PartialFile(target)
    file.write(b"safe")
    state = file.sync()
    file.write(b"not yet safe")
    file.close()
    return state


def test_a_continued_file_is_cut_to_what_was_safe(tmp_path):
    target = tmp_path / "a"
    file = PartialFile(target, resume=begun(target))
    file.write(b" and more")
    assert file.sync().sha256 == hashlib.sha256(b"safe and more").hexdigest()
    file.commit()
    assert target.read_bytes() == b"safe and more"


@pytest.mark.parametrize(
    "change", [lambda p: p.unlink(), lambda p: p.write_bytes(b"s"), lambda p: p.write_bytes(b"SAFE")]
)
def test_a_changed_partial_file_is_refused(tmp_path, change):
    target = tmp_path / "a"
    state = begun(target)
    change(partial_path(target))
    with refuses(InputError, match="--force"):
        PartialFile(target, resume=state)


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EROFS, "another folder"),
        (errno.EIO, "Choose another folder"),
    ],
)
def test_system_errors_name_a_remedy(tmp_path, number, remedy):
    with pytest.raises(OutputError, match=remedy), output_errors(tmp_path):
        raise OSError(number, "system says")


def test_a_file_in_the_way_of_a_folder_is_an_output_error(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(OutputError):
        PartialFile(tmp_path / "a" / "b.txt")
