"""What a child process is given in place of a function of a format. It imports nothing: a child has few rights."""


def change_another_case(data: bytes, *_: object) -> bytes:
    """Return a file in which another case than the one that was asked for is changed."""
    return data.replace(b"by Bo", b"by Ann")
