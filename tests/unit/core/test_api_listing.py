"""The list of API files reads key and name in the same way from the files of behaviours and of messages."""

from __future__ import annotations

from groupmock.core.apis import keyed, module_names
from groupmock_codec import APIS
from groupmock_codec.registry import Apis

NAMES = ["k100_read_share_group_state", "k11_join_group", "k10_find_coordinator", "kit", "k_nothing", "sessions"]


def test_a_key_of_three_digits_is_that_key() -> None:
    """The key was once read from two digits only, so that k100 replaced k10."""
    assert keyed(NAMES) == {
        10: "k10_find_coordinator",
        11: "k11_join_group",
        100: "k100_read_share_group_state",
    }


def test_the_codec_reads_the_same_files_by_the_same_keys() -> None:
    codec = Apis(NAMES)
    assert {api.key: api.stem for api in codec.values()} == keyed(NAMES)
    assert codec["ReadShareGroupState"].key == 100


def test_behaviours_are_listed_by_key_in_order() -> None:
    assert list(module_names()) == sorted(module_names())
    assert {key: APIS[key].stem for key in module_names()} == module_names()
