# ruff: noqa: E501 — a whole source file stands on one line of the tables
"""Code that says nothing of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.chunk.boilerplate import HASH_IS_CODE, boilerplate_end, is_boilerplate
from outcrop.parse.code import LANGUAGES

APACHE = """\
// Copyright {year} {name}
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
"""
SWIFT = """\
//
//  {file}.swift
//
//  Copyright (c) {year} {name} (http://example.com/)
//
//  Permission is hereby granted, free of charge, to any person obtaining a copy
//  of this software and associated documentation files (the "Software"), to deal
"""

BOILERPLATE = [
    ("go", APACHE.format(year=2024, name="The Authors")),
    ("swift", SWIFT.format(file="Pool", year="2014-2018", name="Pool Foundation")),
    ("php", "<?php declare(strict_types=1);\n\n/*\n * This file is part of the Pool package.\n *\n * (c) A B <a@b.c>\n */\n\nnamespace Pool;\n\nuse Psr\\Log;\n"),
    ("python", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nfrom __future__ import annotations\n\nimport os\nfrom a.b import (\n    C,\n    d as e,  # noqa: F401\n)\n"),
    ("python", '__all__ = [\n    "Pool",\n    "acquire",\n]\n'),
    ("python", "try:\n    import json\nexcept ImportError:\n    import simplejson as json\n"),
    ("javascript", "'use strict'\n\nconst fs = require('fs')\nvar { a, b } = require('./lib/a').c;\nimport x, { y } from 'z';\n"),
    ("typescript", "export * from './a';\nexport { b, c as d } from './b';\nexport type { E } from './e';\nimport {\n  f,\n} from 'f'\n"),
    ("javascript", "module.exports = {\n  acquire,\n  release,\n}\n"),
    ("go", 'package pool\n\nimport (\n\t"context"\n\tlog "github.com/a/b-c"\n)\n'),
    ("rust", "#![allow(dead_code)]\nuse std::{\n    io,\n    fmt::{self, Debug},\n};\npub mod pool;\nmod b;\n"),
    ("cpp", "#ifndef POOL_H_\n#define POOL_H_\n\n#include <string>\n#include \"a.h\"\n\n#endif  // POOL_H_\n"),
    ("c", "#pragma once\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"),
    ("c_sharp", "#nullable enable\n#region Usings\nusing System;\nusing System.Text;\nusing F = A.B<int>;\n\nnamespace Pool;\n"),
    ("java", "/*\n * Copyright (C) 2008 Google Inc.\n */\npackage com.pool;\n\nimport java.util.*;\nimport static a.B.c;\n"),
    ("haskell", "{-# LANGUAGE CPP #-}\nmodule Data.Pool\n  ( Pool\n  , acquire\n  ) where\n\nimport Data.Text (Text, unpack)\nimport qualified Data.Map as M\n"),
    ("ruby", "# frozen_string_literal: true\n\nrequire 'set'\nrequire_relative 'pool'\nautoload :Pool, 'pool'\n"),
    ("elixir", "alias Ecto.Query\nimport Ecto.Changeset\nrequire Logger\n"),
    ("lua", 'local Util = require("lazy.util")\nlocal M = require "lazy"\n'),
    ("zig", 'const std = @import("std");\nconst clap = @import("clap.zig");\n'),
    ("python", "def on_open(self):\n    pass\n\ndef on_close(self):\n    pass\n\n@abstractmethod\ndef on_error(self, error): ...\n"),
    ("java", "public void onOpen(Session s) {}\n@Override\npublic void onClose() { }\nvoid onError(E e) {}\n"),
    ("java", "public int getA() { return a; }\npublic int getB() { return this.b; }\npublic C getC() { return c; }\n"),
]  # fmt: skip

WORTH_KEEPING = [
    ("python", "def acquire(self):\n    return self._free.pop()\n"),
    ("python", "import os\n\nTIMEOUT = 30\n"),
    ("python", '"""A pool of connections that are used again."""\n\nimport os\n'),
    ("python", "class PoolTimeout(Exception):\n    pass\n"),
    ("python", "def close(self) -> None: ...\n"),
    ("python", "class Store(Protocol):\n    def a(self) -> int: ...\n    def b(self) -> int: ...\n    def c(self) -> int: ...\n"),
    ("python", "# Connections are handed out in the order they came back.\n"),
    ("python", '# Copyright 2024 A\n# Licensed under MIT\n"""Connections that are used again."""\n\nimport os\n'),
    ("python", '# Connections are handed out in turn.\n"""\nCopyright 2024 A\n"""\n'),
    ("go", APACHE.format(year=2024, name="A") + "\n// Package pool keeps connections open between requests.\npackage pool\n"),
    ("javascript", "module.exports = {\n  acquire: function () {\n    return 1\n  },\n}\n"),
    ("javascript", "module.exports = {\n  acquire() {\n    pool.pop()\n  },\n}\n"),
    ("javascript", "const pool = createPool({ size: 3 })\n"),
    ("javascript", "export const a = () => b\n"),
    ("cpp", "#include <string>\nint acquire(Pool& pool);\n"),
    ("cpp", "#define RETRY(x) do { x; } while (0)\n"),
    ("rust", "use std::io;\n\npub struct Pool {\n    free: Vec<Conn>,\n}\n"),
    ("java", "public int getA() { return a; }\npublic int getB() { return compute(b); }\npublic int getC() { return c; }\n"),
    ("bash", "source ./nvm.sh\nnvm install 20\n"),
    ("css", "#pool { color: red }\n"),
    ("c_sharp", "using (var pool = Open())\n{\n    pool.Run();\n}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), BOILERPLATE)
def test_licences_imports_exports_guards_and_repeated_stubs_are_boilerplate(language: str, text: str) -> None:
    assert is_boilerplate(text, language)


@pytest.mark.parametrize(("language", "text"), WORTH_KEEPING)
def test_whatever_does_or_describes_something_is_kept(language: str, text: str) -> None:
    assert not is_boilerplate(text, language)


def test_language_names_are_those_of_the_table_of_grammars() -> None:
    assert {language.name for language in LANGUAGES} >= HASH_IS_CODE


@given(
    st.text(alphabet="/*#'\"-{}()[]\nadefimport :;=,@. ", max_size=200),
    st.sampled_from(["python", "c", "haskell"]),
)
def test_trailing_empty_lines_never_change_whether_a_text_is_boilerplate(text: str, language: str) -> None:
    assert is_boilerplate(text + "\n\n", language) == is_boilerplate(text, language)


def test_hostile_lines_take_linear_time() -> None:
    for line in (
        "a " * 50_000,
        "f()" * 30_000,
        "@a(b) " * 20_000,
        "def x" * 20_000 + ":",
        "import " + "(" * 90_000,
    ):
        is_boilerplate(line, "python")


@pytest.mark.parametrize(
    ("language", "licence", "own"),
    [
        (
            "go",
            APACHE.format(year=2024, name="A") + "\n",
            "// Package pool keeps connections open.\npackage pool\n",
        ),
        (
            "python",
            "# Copyright 2024 A\n# Licensed under MIT\n",
            '"""Connections that are used again."""\n\nimport os\n',
        ),
        ("python", "#!/usr/bin/env python\n\nimport os\n", "TIMEOUT = 30\n"),
        ("cpp", "", "/* Copyright A\n *\n * Pools of connections.\n */\n#include <pool>\n"),
        ("python", "", "def a(): pass\ndef b(): pass\nx = 1\n"),
        ("java", "package com.pool;\n\nimport java.util.*;\n", ""),
    ],
)
def test_leading_boilerplate_ends_where_the_file_starts_to_say_something(
    language: str, licence: str, own: str
) -> None:
    assert boilerplate_end(licence + own, language) == len(licence)


@given(st.text(alphabet="/*#'\"-{}()[]\nadefimport :;=,@. ", max_size=200))
def test_boilerplate_ends_at_the_start_of_a_line_and_all_before_it_is_boilerplate(text: str) -> None:
    end = boilerplate_end(text, "python")
    assert end == len(text) or end == 0 or text[end - 1] == "\n"
    assert is_boilerplate(text[:end], "python")
