# ruff: noqa: E501 — a whole source file stands on one line of the tables
"""Code that says nothing of its own, and the key that near-duplicates share."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.chunk.boilerplate import is_boilerplate, shape_key

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
    ("php", "<?php declare(strict_types=1);\n\n/*\n * This file is part of the Pool package.\n *\n * (c) A B <a@b.c>\n */\n\nnamespace Pool;\n\nuse Psr\\Log;\n"[6:]),
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
    ("csharp", "using System;\nusing System.Text;\nusing F = A.B<int>;\n\nnamespace Pool;\n"),
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
    ("csharp", "using (var pool = Open())\n{\n    pool.Run();\n}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), BOILERPLATE)
def test_licences_imports_exports_guards_and_repeated_stubs_are_boilerplate(language: str, text: str) -> None:
    assert is_boilerplate(text, language)


@pytest.mark.parametrize(("language", "text"), WORTH_KEEPING)
def test_whatever_does_or_describes_something_is_kept(language: str, text: str) -> None:
    assert not is_boilerplate(text, language)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            APACHE.format(year=2019, name="Google LLC"),
            APACHE.format(year="2021-2024", name="The Pool Authors."),
        ),
        (
            SWIFT.format(file="Pool", year=2014, name="A"),
            SWIFT.format(file="Session", year="2014-2018", name="B C"),
        ),
        ("def on_open(self):\n    pass\n", "def on_close(self):\n    pass\n"),
        ("def on_open(self) -> None: ...", "def on_close(self)  ->  None: ...\n"),
        ("public void onOpen() {}", "public void onClose() {\n}\n"),
        ("@property\ndef a(self):\n    return self._a\n", "@property\ndef b(self):\n    return self._b\n"),
        ("public int getA() { return this.a; }", "public int getB() {\n    return this.b;\n}"),
        ("def f(a, b):\n    return a+b\n", "def f(a, b):\n        return a + b"),
        ("retry(times=3, wait=10)\nlog('again')\n", "retry(times=5, wait=200)\nlog('again')\n"),
    ],
)
def test_near_duplicates_share_a_key(one: str, other: str) -> None:
    assert shape_key(one) == shape_key(other)


DIFFERENT = [
    "def add(a, b):\n    return a + b\n",
    "def sub(a, b):\n    return a - b\n",
    "def cat(a, b):\n    return a + b\n",
    "def sha256(data):\n    return hashlib.sha256(data)\n",
    "def sha512(data):\n    return hashlib.sha512(data)\n",
    "def a(self):\n    return self._a.close()\n",
    "def b(self):\n    return self._b.close()\n",
    "class PoolTimeout(Exception):\n    pass\n",
    "class PoolClosed(Exception):\n    pass\n",
    "class A {}",
    "class B {}",
    "new A() {}",
    "def f(x): ...",
    "def f(x, y): ...",
    "return f(c) + g\n",
    "return f(c) - h\n",
    "int getA() { return this.a; }",
    "String getA() { return this.a; }",
    "1,2,3\n4,5,6\n",
    "7,8,9\n1,2,3\n",
    "if (a) {}",
    "while (b) {}",
    "def is_open(self):\n    return not self.closed\n",
    "def is_closed(self):\n    return self.closed is True\n",
]


def test_short_functions_that_differ_in_what_they_do_or_are_called_never_share_a_key() -> None:
    same = [(a, b) for a, b in combinations(DIFFERENT, 2) if shape_key(a) == shape_key(b)]
    assert same == []


@given(st.text(max_size=600))
def test_any_text_has_a_key_of_eight_bytes_that_does_not_see_white_space(text: str) -> None:
    key = shape_key(text)
    assert len(key) == 8
    assert shape_key(text + "\n\n") == key


@given(
    st.text(alphabet="/*#'\"-{}()[]\nadefimport :;=,@. ", max_size=200),
    st.sampled_from(["python", "c", "haskell"]),
)
def test_any_text_is_boilerplate_or_not_and_stays_so_after_blank_lines(text: str, language: str) -> None:
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
        shape_key(line)
