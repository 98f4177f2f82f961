"""Licences as registries really write them."""

from __future__ import annotations

import pytest
from training.collect.licences import (
    has_copyleft_header,
    read_copyright,
    read_expression,
    read_npm,
    read_pypi,
    read_text,
)

KEPT = {
    "MIT": "MIT",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "Expat": "MIT",
    "X11": "MIT",
    "MIT/X11": "MIT OR MIT",
    "MIT No Attribution": "MIT-0",
    "BSD": "BSD",
    "BSD License": "BSD",
    "New BSD License": "BSD-3-Clause",
    "3-Clause BSD": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD-2-clause-FreeBSD": "BSD-2-Clause",
    "BSD-4-clause-UC": "BSD-4-Clause",
    "0BSD": "0BSD",
    "Apache-2.0": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache License (2.0)": "Apache-2.0",
    "Apache License v2.0": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "PSF-2.0": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Python-2.0": "Python-2.0",
    "zlib/libpng": "Zlib",
    "The Unlicense (Unlicense)": "Unlicense",
    "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
    "CC-BY-4.0": "CC-BY",
    "MIT OR Apache-2.0": "MIT OR Apache-2.0",
    "MIT/Apache-2.0": "MIT OR Apache-2.0",
    "(MIT OR GPL-3.0-or-later)": "MIT",
    "GPL-2+ or Expat": "MIT",
    "(WTFPL OR MIT)": "MIT",
    "Ruby or BSD-2-clause": "BSD-2-Clause",
    "Expat and BSD-3-clause": "MIT AND BSD-3-Clause",
    "Expat, and BSD-3-clause": "MIT AND BSD-3-Clause",
    "Apache-2.0 with LLVM-exception": "Apache-2.0",
    "(MIT AND Zlib) OR GPL-2.0": "MIT AND Zlib",
}
REFUSED = [
    "", "GPL-3.0", "GPL-2+ with OpenSSL exception", "LGPL-2.1+", "GNU General Public License v3 (GPLv3)", "MPL-2.0",
    "MIT AND GPL-2.0", "MPL-2.0 and MIT", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-ND-3.0", "UNLICENSED", "Proprietary",
    "SEE LICENSE IN LICENSE.md", "Dual License", "Public Domain", "BSD, Public Domain", "Artistic-2.0", "BSL-1.0",
    "BSD-3-Clause-No-Nuclear-License", "(MIT OR Apache-2.0) AND Unicode-DFS-2016", "Apache", "Apache-1.1", "(MIT",
    "LGPL with exceptions or ZPL", "AGPL-3.0", "EPL-2.0", "BUSL-1.1", "MIT or", "HPND",
]  # fmt: skip


@pytest.mark.parametrize(("words", "name"), KEPT.items())
def test_a_permissive_licence_is_read_by_its_spdx_name(words: str, name: str) -> None:
    licence = read_expression(words)
    assert (licence.name, licence.is_permissive) == (name, True)


@pytest.mark.parametrize("words", REFUSED)
def test_copyleft_other_conditions_and_what_cannot_be_read_are_refused(words: str) -> None:
    assert not read_expression(words).is_permissive


def test_a_licence_is_known_by_its_text_unless_another_stands_beside_it() -> None:
    mit = "Permission is hereby granted, free of charge, to any person\nobtaining a copy of this software"
    assert read_text(mit).name == "MIT"
    assert read_text("Redistribution and use in source and binary\n forms, with or without").name == "BSD"
    assert not read_text(mit + "\nGNU GENERAL PUBLIC LICENSE Version 3").is_permissive
    assert not read_text(mit + "\nThe Software shall be used for Good, not Evil.").is_permissive
    assert not read_text("All rights reserved.").is_permissive


@pytest.mark.parametrize(
    ("expression", "field", "classifiers", "is_kept"),
    [
        ("MIT", "GPL", ["License :: OSI Approved :: GNU General Public License (GPL)"], True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", "", ["License :: OSI Approved :: MIT License"], False),
        ("", "", ["License :: OSI Approved :: Apache Software License"], True),
        ("", "see the website", ["License :: OSI Approved :: MIT License"], True),
        ("", "BSD-2-Clause", ["License :: DFSG approved", "License :: OSI Approved :: BSD License"], True),
        ("", "BSD", [], True),
        ("", "GPLv3", ["License :: OSI Approved :: MIT License"], False),
        (
            "",
            "",
            [
                "License :: OSI Approved :: MIT License",
                "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)",
            ],
            False,
        ),
        ("", "UNKNOWN", ["License :: OSI Approved"], False),
        ("", "Redistribution and use in source and binary forms, with or without " + "x" * 200, [], True),
        ("", "GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991" + " words" * 100, [], False),
    ],
)
def test_pypi_metadata_must_agree(expression: str, field: str, classifiers: list[str], is_kept: bool) -> None:
    assert read_pypi(expression, field, classifiers).is_permissive is is_kept


@pytest.mark.parametrize(
    ("declared", "is_kept"),
    [
        ("ISC", True),
        ({"type": "MIT", "url": "x"}, True),
        ([{"type": "GPL-2.0"}, {"type": "MIT"}], True),
        ([{"type": "GPL-2.0"}], False),
        (None, False),
        ([], False),
        ({"url": "x"}, False),
    ],
)
def test_npm_declares_a_licence_in_three_forms(declared: object, is_kept: bool) -> None:
    assert read_npm(declared).is_permissive is is_kept


COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: thing
Source: https://github.com/someone/thing
# a comment
Files-Excluded:
 *.min.js

Files: *
Copyright: 2020 Someone
License: Expat

Files: contrib/*
       src/old?.c
Copyright: 2001 Other
License: GPL-2+

Files: contrib/free.c
Copyright: 2001 Other
License: BSD-3-clause or GPL-2

License: Expat
 Permission is hereby granted, free of charge
 .
 and so on.
"""


def test_the_last_stanza_of_a_copyright_file_that_fits_a_path_counts() -> None:
    read = read_copyright(COPYRIGHT)
    assert read is not None
    assert read.source == "https://github.com/someone/thing"
    assert read.licence_of("src/main.c").name == "MIT"
    assert not read.licence_of("contrib/deep/tool.c").is_permissive
    assert not read.licence_of("src/old1.c").is_permissive
    assert read.licence_of("contrib/free.c").name == "BSD-3-Clause"


def test_a_refused_stanza_is_found_below_the_folder_of_an_installed_package() -> None:
    read = read_copyright(COPYRIGHT)
    assert read is not None
    assert read.refuses_tail("usr/share/doc/thing/contrib/tool.c")
    assert not read.refuses_tail("usr/share/doc/thing/src/main.c")


def test_a_copyright_file_in_free_words_says_nothing() -> None:
    assert read_copyright("This package was debianized by hand.\n\nIt is under the MIT license.") is None


@pytest.mark.parametrize(
    ("head", "is_refused"),
    [
        (
            "# This program is free software under the terms of the GNU General\n# Public License as published",
            True,
        ),
        (
            "/* This Source Code Form is subject to the terms of the Mozilla\n * Public License, v. 2.0. */",
            True,
        ),
        ("// SPDX-License-Identifier: GPL-2.0-only\n", True),
        ("// SPDX-License-Identifier: MIT\nint main(void);", False),
        ("x" * 4000 + "\n# GNU General Public License", False),
    ],
)
def test_a_header_of_other_terms_refuses_the_file(head: str, is_refused: bool) -> None:
    assert has_copyleft_header(head) is is_refused


def test_a_copyright_file_without_a_group_of_all_files_is_asked_file_by_file() -> None:
    read = read_copyright(COPYRIGHT.replace("Files: *\n", "Files: swift/*\n"))
    assert read is not None
    assert read.whole()[1].is_permissive
    assert read.licence_of("swift/core.swift").is_permissive
    assert not read.licence_of("curl/curl.c").is_permissive
    assert read.refuses_tail("usr/share/curl.c")


@pytest.mark.parametrize(
    ("name", "text", "is_kept"),
    [
        ("Go", " Redistribution and use in source and binary forms, with or without\n modification", True),
        ("Go", " Redistribution and use in source and binary forms" + " and more conditions" * 400, False),
        ("Ours", " Ask the author.", False),
        ("GPL-linking-exception", " Redistribution and use in source and binary forms", False),
    ],
)
def test_a_name_that_a_copyright_file_made_up_is_read_by_its_text(name: str, text: str, is_kept: bool) -> None:
    read = read_copyright(f"Format: x\n\nFiles: *\nCopyright: me\nLicense: {name}\n\nLicense: {name}\n{text}\n")
    assert read is not None
    assert read.whole()[1].is_permissive is is_kept
