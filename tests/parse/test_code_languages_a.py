"""Declarations and references of the C-like languages, Python and the component formats, from small real sources."""

from __future__ import annotations

import re

import pytest

from outcrop.parse.code import LANGUAGES, Language, find_language, read_code
from outcrop.parse.code.languages import grammar_of
from outcrop.parse.code.references import module_path, use_leaves
from outcrop.records import Declaration, Outline

PYTHON = '''"""Pools – geprüft 🚀."""
from __future__ import annotations

import os.path as osp
from .base import Base, helper as help_me
from .. import errors

MAX_SIZE, MIN_SIZE = 10, 1
"""The most."""

if os.name == "nt":
    SEP = "\\\\"

type Pair = tuple[int, int]

# Hält Verbindungen offen.
@dataclass(frozen=True)
class Pool(Base[Conn], abc.ABC, metaclass=Meta):
    """Keeps connections open, e.g. for a while. And more."""

    size: int = 3

    @property
    def free(self) -> int | None:
        """How many are free."""
        limit = 3
        return osp.join(help_me(self.size), MAX_SIZE)

    async def acquire(
        self,
        timeout: float = 1.0,
    ) -> Conn:
        def inner(): ...
        return await self._open(timeout)


def run(pool: Pool, other: "Pool") -> list[errors.Code]:
    raise Status.FAILED
'''

JAVASCRIPT = """'use strict' // größer 🚀
const { readFile, stat: fileStat } = require('node:fs')
const parse = require('./parse.js').parse
import React, { useState as use } from 'react'
export { open } from '../io'

export const LIMIT = 10, OTHER = 2

/**
 * Keeps connections.
 * @param {number} size how many
 */
export class Pool extends base.Store {
  #items = new Map()
  onClose = () => { this.close() }
  constructor(size) { super(size) }
  get size() { return LIMIT }
  static async open(path, cb) { const local = 1; return await readFile(path, cb) }
}

const double = (value) => value * 2
exports.close = function close(pool) { pool.end() }
const Button = ({ label }) => <Card.Body><Label text={label} /></Card.Body>
export default { name: 'x', setup(props) { return helper(props) } }

describe('a pool', () => {
  it('opens 🚀', async () => { expect(new Pool(1).size).toBe(1) })
})
"""

TYPESCRIPT = """import type { Conn } from './conn' // größer 🚀
import fs = require('fs')
export * from './all'

/** Keeps connections of one {@link Kind}. Second. */
@Injectable({ scope: 'root' })
export abstract class Pool<T extends Conn> extends Base<T> implements Source, io.Closer<T> {
  private items: Map<string, T> = new Map()
  constructor(private readonly service: Service) { super() }
  @Input() async acquire(timeout?: number): Promise<T> { return open<T>(timeout) }
  abstract close(): void
}
export interface Source extends Named { size: number; close(): void }
export type Option = Partial<Pool<Conn>> | io.Other
export enum Kind { Fast = 1, Slow }
declare module 'plugin' { export function load(name: string): void }
namespace Deep.Inner { export const depth = 1 }
export function pick(a: string): void
export function pick(a: unknown): void { a as Kind }
export const make = <T,>(value: T): T => { return value }
"""

TSX = """import { Card } from './card' // größer 🚀
export const Button = ({ label }: Props) => <Card title={label}><ui.Icon /></Card>
export function List(): JSX.Element { return <Button label="x" /> }
"""

GO = """// Package pool – hält Verbindungen 🚀.
package pool

import (
	"context"
	alias "example.com/x/log"
)

const Limit = 10

const (
	// Small is the least.
	Small = iota
	Large
)

var _ Store = (*Pool)(nil)
var defaultPool = New(Limit)

// Pool keeps connections. It is safe.
type Pool[T any] struct {
	sync.Mutex
	Base
	items []T
}

type Store interface {
	io.Closer
	// Acquire waits.
	Acquire(ctx context.Context) (*Conn, error)
}

type Option func(*Config)

// New makes one.
func New(size int) *Pool { return &Pool{items: alias.Make(size)} }

func (p *Pool[T]) Acquire(ctx context.Context) (*Conn, error) {
	local := Config{}
	return p.items.take(ctx, http.StatusOK, local, handler)
}
"""

RUST = """//! Pools – hält Verbindungen 🚀.
use std::collections::{HashMap, hash_map::{self, Entry as Slot}};
pub use crate::base::*;
mod inner;

pub const LIMIT: usize = 10;
static COUNT: u32 = 0;
type Result<T> = std::result::Result<T, Error>;

/// Keeps connections.
///
/// Long story.
#[derive(Debug, Clone)]
pub struct Pool<T: Conn> { items: Vec<T> }
pub struct Id(u32);
pub enum Kind { Fast, Slow(u8) }

pub trait Source: Send + io::Read {
    type Item;
    fn next(&mut self) -> Option<Self::Item>;
    fn skip(&mut self) { self.next(); }
}

impl<T> Pool<T> {
    /// Waits for one.
    #[inline]
    pub fn acquire(&self, timeout: Duration) -> Result<Conn> {
        const STEP: u8 = 1;
        log::debug!("x {}", Kind::Fast);
        HashMap::with_capacity(LIMIT);
        self.items.iter().map(parse::<T>).collect()
    }
}

impl<T> fmt::Display for Pool<T> { fn fmt(&self) {} }

macro_rules! pool { ($size:expr) => { Pool::new($size) } }

mod tests { #[test] fn works() { assert_eq!(run(), 1); } }
extern "C" { fn raw_open(path: *const u8) -> i32; }
"""

JAVA = """package com.acme.pool; // größer 🚀
import com.acme.io.Conn;
import static com.acme.Limits.MAX;
import java.util.*;

/**
 * Keeps {@code Conn}s of one {@link Kind}. More.
 * @param <T> the kind
 */
@Deprecated
public class Pool<T extends Conn> extends Base<T> implements Source, io.Closer {
  private static final int LIMIT = 10;
  @Inject Service service;
  public Pool(int size) { super(size); }
  @Override
  public <R> List<R> acquire(Map<String, T> by, long timeout) throws Closed {
    service.open(by); new Conn(MAX); return map(Pool::parse);
  }
  enum Kind { FAST, SLOW }
  interface Source { void close(); }
  record Size(int width) implements Shape {}
  @interface Marked { String value() default ""; }
}
"""

C = """/* Pools – hält Verbindungen 🚀 */
#include <stdio.h>
#include "pool.h"
#define POOL_MAX 10
#define POOL_AT(p, i) \\
  ((p)->items[i])
#define POOL_GUARD

/** Keeps connections. Second. */
typedef struct pool_s { int size; } pool_t;
typedef void (*pool_cb)(pool_t *pool);
struct node;
enum kind { FAST, SLOW = 2 };
static const char *names[] = {"a"};
extern int counter;

/* Opens it. */
API_EXTERN pool_t *pool_open(const char *path, pool_cb cb);

static int take(pool_t *pool) {
  int local = 1;
  return helper(pool->size, POOL_MAX) + pool->ops.run(pool, take_cb);
}

pool_t **pool_all(void) { return 0; }

TEST_IMPL(pool_works) { take(0); }
"""

CPP = """// größer 🚀
#include <vector>
#include "acme/pool.hpp"
LIB_BEGIN_NAMESPACE
namespace acme::pool {

/// Keeps connections. Second.
template <typename T>
class LIB_API Pool final : public Base<T>, private io::Closer {
 public:
  explicit Pool(int size) : size_(size) {}
  ~Pool();
  virtual int size() const = 0;
  bool operator==(const Pool& other) const { return same(other); }
  operator bool() const { return true; }
  template <class V> void add(V&& value) { items.push_back(std::move<V>(value)); new Conn(1); }
  enum class Kind { Fast, Slow };
  using value_type = T;
};
class Forward;

template <typename T>
int Pool<T>::size() const { return helper<int>(io::count()); }
std::string& Pool<int>::name() { return name_; }
int open(const char* path);
constexpr int kLimit = 4;
}
TEST(PoolTest, Opens) { EXPECT_EQ(open("x"), 1); }
"""

CSHARP = """using System; // größer 🚀
using static Acme.Limits;
using Map = Acme.Collections.Map;
namespace Acme.Pools;

/// <summary>
/// Keeps connections of a <see cref="Kind"/>. More.
/// </summary>
/// <typeparam name="T">the kind</typeparam>
[Serializable]
public sealed class Pool<T> : Base<T>, IPool where T : Conn {
  private const int Limit = 10;
  private readonly Map<T> items = new();
  public int Count { get; private set; }
  public Pool(int size) : base(size) { }
  [Obsolete("x")]
  public async Task<Conn> Acquire(TimeSpan timeout) { var one = new Conn(1); return await service.Open<int>(one); }
  public static Pool<T> operator +(Pool<T> a, Pool<T> b) => a;
  enum Kind { Fast, Slow }
}
public interface IPool { void Close(); }
public record Size(int Width) : Shape;
public delegate void Closed(Pool<int> pool);
"""

VUE = """<!-- Shows a user – schön 🚀. Second. -->
<script setup lang="ts">
import { ref } from 'vue'
import Icon from './Icon.vue'
const count = ref<number>(0)
function save(user: User) { store.put(user) }
</script>

<template>
  <user-card @click="save"><Icon /></user-card>
</template>

<style scoped>
.a { color: red }
</style>
"""

SVELTE = """<script>
  import { open } from './io' // größer 🚀
  export let name = 'x'
  function save() { open(name) }
</script>

<h1>{name}</h1>
<Button on:click={save} />

<style>h1 { color: red }</style>
"""

SOURCES = {
    "pool.py": PYTHON,
    "pool.jsx": JAVASCRIPT,
    "pool.ts": TYPESCRIPT,
    "pool.tsx": TSX,
    "pool.go": GO,
    "pool.rs": RUST,
    "Pool.java": JAVA,
    "pool.c": C,
    "pool.cpp": CPP,
    "Pool.cs": CSHARP,
    "UserCard.vue": VUE,
    "Page.svelte": SVELTE,
}

DECLARATIONS = {
    "pool.py": """
        constant MAX_SIZE | constant MIN_SIZE | constant SEP | type Pair | class Pool | field Pool.size |
        method Pool.free | method Pool.acquire | local Pool.acquire.inner | function run
    """,
    "pool.jsx": """
        constant LIMIT | constant OTHER | class Pool | field Pool.#items | method Pool.onClose |
        constructor Pool.constructor | method Pool.size | method Pool.open | function double |
        function exports.close | function Button | constant default | method default.setup | test a pool |
        test a pool.opens 🚀
    """,
    "pool.ts": """
        class Pool | field Pool.items | constructor Pool.constructor | method Pool.acquire | method Pool.close |
        interface Source | method Source.close | type Option | enum Kind | variant Kind.Fast | variant Kind.Slow |
        prototype plugin.load | constant Deep.Inner.depth | prototype pick | function pick | function make
    """,
    "pool.tsx": """
        function Button | function List
    """,
    "pool.go": """
        constant Limit | constant Small | constant Large | variable defaultPool | struct Pool | interface Store |
        method Store.Acquire | type Option | function New | method Pool.Acquire
    """,
    "pool.rs": """
        constant LIMIT | variable COUNT | type Result | struct Pool | struct Id | enum Kind | variant Kind.Fast |
        variant Kind.Slow | trait Source | type Source.Item | method Source.next | method Source.skip |
        method Pool.acquire | method Pool.fmt | macro pool | function tests.works | prototype raw_open
    """,
    "Pool.java": """
        class Pool | constant Pool.LIMIT | field Pool.service | constructor Pool.Pool | method Pool.acquire |
        enum Pool.Kind | variant Pool.Kind.FAST | variant Pool.Kind.SLOW | interface Pool.Source |
        method Pool.Source.close | record Pool.Size | interface Pool.Marked | method Pool.Marked.value
    """,
    "pool.c": """
        macro POOL_MAX | macro POOL_AT | struct pool_t | struct pool_t.pool_s | type pool_cb | enum kind |
        variant kind.FAST | variant kind.SLOW | constant names | variable counter | prototype pool_open |
        function take | function pool_all | function pool_works
    """,
    "pool.cpp": """
        class acme.pool.Pool | constructor acme.pool.Pool.Pool | prototype acme.pool.Pool.~Pool |
        prototype acme.pool.Pool.size | method acme.pool.Pool.operator== | method acme.pool.Pool.operator bool |
        method acme.pool.Pool.add | enum acme.pool.Pool.Kind | variant acme.pool.Pool.Kind.Fast |
        variant acme.pool.Pool.Kind.Slow | type acme.pool.Pool.value_type | method acme.pool.Pool.size |
        method acme.pool.Pool.name | prototype acme.pool.open | constant acme.pool.kLimit | test PoolTest.Opens
    """,
    "Pool.cs": """
        class Acme.Pools.Pool | constant Acme.Pools.Pool.Limit | field Acme.Pools.Pool.items |
        property Acme.Pools.Pool.Count | constructor Acme.Pools.Pool.Pool | method Acme.Pools.Pool.Acquire |
        operator Acme.Pools.Pool.+ | enum Acme.Pools.Pool.Kind | variant Acme.Pools.Pool.Kind.Fast |
        variant Acme.Pools.Pool.Kind.Slow | interface Acme.Pools.IPool | method Acme.Pools.IPool.Close |
        record Acme.Pools.Size | type Acme.Pools.Closed
    """,
    "UserCard.vue": """
        component UserCard | constant UserCard.count | function UserCard.save | template UserCard.template |
        style UserCard.style
    """,
    "Page.svelte": """
        component Page | constant Page.name | function Page.save | template Page.template | style Page.style
    """,
}


def outline_of(path: str) -> Outline:
    outline = read_code(SOURCES[path], path).outline
    assert outline is not None
    return outline


def declared(path: str, qualified: str, kind: str = "") -> Declaration:
    found = [
        item
        for item in outline_of(path).declarations
        if item.qualified == qualified and kind in ("", item.kind)
    ]
    assert len(found) == 1, found
    return found[0]


def used(path: str, kind: str) -> list[str]:
    """The references of a kind, each with its qualifier before it."""
    found = (item for item in outline_of(path).references if item.kind == kind)
    return [f"{item.qualifier}>{item.name}" if item.qualifier else item.name for item in found]


@pytest.mark.parametrize("path", SOURCES)
def test_every_declaration_of_a_source_is_listed_in_order(path: str) -> None:
    expected = [item.strip() for item in re.split(r"\||\n", DECLARATIONS[path]) if item.strip()]
    assert [f"{item.kind} {item.qualified}" for item in outline_of(path).declarations] == expected


@pytest.mark.parametrize("path", SOURCES)
def test_offsets_point_at_the_declaration_after_text_that_is_not_ascii(path: str) -> None:
    text = SOURCES[path]
    assert not text.isascii()
    for item in outline_of(path).declarations:
        assert 0 <= item.start <= item.at <= item.end <= len(text)
        assert item.at <= item.body <= item.end
        if item.kind not in ("component", "template"):
            first = re.match(r"\S\w*", item.signature)
            assert first is not None
            assert text.startswith(first[0], item.at)
            assert not text[item.end - 1].isspace()


@pytest.mark.parametrize("path", SOURCES)
def test_references_point_at_the_name_they_give(path: str) -> None:
    text = SOURCES[path]
    for item in outline_of(path).references:
        if item.kind != "import" and item.name != "UserCard":  # written user-card
            assert text.startswith(item.name, item.start)


@pytest.mark.parametrize(
    ("path", "qualified", "signature"),
    [
        ("pool.py", "Pool", "class Pool(Base[Conn], abc.ABC, metaclass=Meta)"),
        ("pool.py", "Pool.acquire", "async def acquire(self, timeout: float = 1.0) -> Conn"),
        ("pool.jsx", "double", "const double = (value) =>"),
        ("pool.jsx", "Pool.open", "static async open(path, cb)"),
        ("pool.jsx", "a pool.opens 🚀", "it('opens 🚀', async () =>"),
        ("pool.ts", "Pool.acquire", "async acquire(timeout?: number): Promise<T>"),
        ("pool.ts", "Option", "type Option = Partial<Pool<Conn>> | io.Other"),
        ("pool.go", "Pool.Acquire", "func (p *Pool[T]) Acquire(ctx context.Context) (*Conn, error)"),
        ("pool.go", "Pool", "type Pool[T any] struct"),
        ("pool.go", "Small", "Small = iota"),
        ("pool.rs", "Pool.acquire", "pub fn acquire(&self, timeout: Duration) -> Result<Conn>"),
        ("pool.rs", "pool", "macro_rules! pool"),
        (
            "Pool.java",
            "Pool.acquire",
            "public <R> List<R> acquire(Map<String, T> by, long timeout) throws Closed",
        ),
        ("Pool.java", "Pool.service", "Service service"),
        ("pool.c", "pool_t", "typedef struct pool_s pool_t"),
        ("pool.c", "POOL_AT", "#define POOL_AT(p, i)"),
        ("pool.c", "pool_all", "pool_t **pool_all(void)"),
        ("pool.cpp", "acme.pool.Pool.name", "std::string& Pool<int>::name()"),
        ("Pool.cs", "Acme.Pools.Pool.Acquire", "public async Task<Conn> Acquire(TimeSpan timeout)"),
        ("Pool.cs", "Acme.Pools.Size", "public record Size(int Width) : Shape"),
        ("UserCard.vue", "UserCard.save", "function save(user: User)"),
    ],
)
def test_a_signature_reads_as_one_line_without_its_body(path: str, qualified: str, signature: str) -> None:
    assert declared(path, qualified).signature == signature


@pytest.mark.parametrize(
    ("path", "qualified", "doc"),
    [
        ("pool.py", "Pool", "Keeps connections open, e.g. for a while."),
        ("pool.py", "Pool.free", "How many are free."),
        ("pool.jsx", "Pool", "Keeps connections."),
        ("pool.ts", "Pool", "Keeps connections of one Kind."),
        ("pool.go", "Pool", "Pool keeps connections."),
        ("pool.go", "Store.Acquire", "Acquire waits."),
        ("pool.rs", "Pool", "Keeps connections."),
        ("pool.rs", "Pool.acquire", "Waits for one."),
        ("Pool.java", "Pool", "Keeps Conns of one Kind."),
        ("pool.c", "pool_t", "Keeps connections."),
        ("pool.c", "pool_open", "Opens it."),
        ("pool.cpp", "acme.pool.Pool", "Keeps connections."),
        ("Pool.cs", "Acme.Pools.Pool", "Keeps connections of a Kind."),
        ("UserCard.vue", "UserCard", "Shows a user – schön 🚀."),
    ],
)
def test_the_documentation_is_its_first_sentence(path: str, qualified: str, doc: str) -> None:
    assert declared(path, qualified).doc == doc


@pytest.mark.parametrize(
    ("path", "imports"),
    [
        ("pool.py", ["os/path", "Base>./base", "helper>./base", "errors>../"]),
        ("pool.jsx", ["readFile>node:fs", "stat>node:fs", "parse>./parse.js", "useState>react", "open>../io"]),
        ("pool.ts", ["Conn>./conn", "fs", "./all"]),
        ("pool.go", ["context", "example.com/x/log"]),
        (
            "pool.rs",
            [
                "HashMap>std/collections",
                "hash_map>std/collections",
                "Entry>std/collections/hash_map",
                "crate/base",
                "inner",
            ],
        ),
        ("Pool.java", ["com/acme/io/Conn", "MAX>com/acme/Limits", "java/util"]),
        ("pool.c", ["stdio.h", "pool.h"]),
        ("pool.cpp", ["vector", "acme/pool.hpp"]),
        ("Pool.cs", ["System", "Acme/Limits", "Acme/Collections/Map"]),
        ("UserCard.vue", ["ref>vue", "./Icon.vue"]),
        ("Page.svelte", ["open>./io"]),
    ],
)
def test_imports_name_the_module_and_what_is_taken_from_it(path: str, imports: list[str]) -> None:
    assert used(path, "import") == imports


@pytest.mark.parametrize(
    ("path", "parents"),
    [
        ("pool.py", ["Base", "abc>ABC"]),
        ("pool.jsx", ["base>Store"]),
        ("pool.ts", ["Base", "Source", "io>Closer", "Named"]),
        ("pool.go", ["sync>Mutex", "Base", "io>Closer"]),
        ("pool.rs", ["Send", "io>Read", "fmt>Display"]),
        ("Pool.java", ["Base", "Source", "io>Closer", "Shape"]),
        ("pool.cpp", ["Base", "io>Closer"]),
        ("Pool.cs", ["Base", "IPool", "Shape"]),
    ],
)
def test_base_classes_are_told_apart_from_other_types(path: str, parents: list[str]) -> None:
    assert used(path, "inherit") == parents
    assert not set(parents) & set(used(path, "type")) - {"Source"}


@pytest.mark.parametrize(
    ("path", "calls"),
    [
        ("pool.py", {"dataclass", "osp>join", "help_me", "self>_open"}),
        ("pool.jsx", {"Map", "this>close", "readFile", "Card>Body", "Label", "Pool"}),
        ("pool.ts", {"Injectable", "Input", "Map", "open"}),
        ("pool.tsx", {"Card", "ui>Icon", "Button"}),
        ("pool.go", {"New", "Pool", "alias>Make", "p.items>take"}),
        ("pool.rs", {"log>debug", "HashMap>with_capacity", "self.items>iter", "parse", "assert_eq"}),
        ("Pool.java", {"service>open", "Conn", "map"}),
        ("pool.c", {"helper", "pool->ops>run"}),
        ("pool.cpp", {"same", "items>push_back", "std>move", "Conn", "helper", "io>count", "open"}),
        ("Pool.cs", {"Conn", "service>Open"}),
        ("UserCard.vue", {"ref", "store>put", "UserCard", "Icon"}),
        ("Page.svelte", {"open", "Button"}),
    ],
)
def test_calls_carry_their_qualifier(path: str, calls: set[str]) -> None:
    assert calls <= set(used(path, "call"))


@pytest.mark.parametrize(
    ("path", "before", "qualified"),
    [
        ("pool.py", "# Hält", "Pool"),
        ("pool.py", "@property", "Pool.free"),
        ("pool.jsx", "/**", "Pool"),
        ("pool.ts", "export enum", "Kind"),
        ("pool.ts", "@Input()", "Pool.acquire"),
        ("pool.rs", "/// Waits", "Pool.acquire"),
        ("Pool.java", "@Override", "Pool.acquire"),
        ("pool.c", "/* Opens", "pool_open"),
        ("pool.cpp", "template <class V>", "acme.pool.Pool.add"),
        ("Pool.cs", "[Obsolete", "Acme.Pools.Pool.Acquire"),
    ],
)
def test_what_belongs_to_a_declaration_is_within_it(path: str, before: str, qualified: str) -> None:
    assert SOURCES[path].startswith(before, declared(path, qualified).start)


@pytest.mark.parametrize(
    "path", ["pool.py", "pool.jsx", "pool.go", "pool.rs", "Pool.java", "pool.c", "Pool.cs"]
)
def test_the_head_of_the_file_holds_its_imports_and_no_declaration_of_weight(path: str) -> None:
    outline = outline_of(path)
    head = SOURCES[path][: outline.header_end]
    assert any(word in head for word in ("import", "use ", "#include", "using"))
    assert "Keeps" not in head


def test_a_header_is_c_until_it_shows_that_it_is_cpp() -> None:
    names = [
        find_language("a.h", text)
        for text in ("int a(void);", "namespace x {\n}", "template <class T>\nint f();")
    ]
    assert [language.name if language else None for language in names] == ["c", "cpp", "cpp"]


def test_macros_and_broken_code_do_not_hide_the_code_around_them() -> None:
    text = """LIB_BEGIN
class LIB_API Window : public Widget {
  Q_OBJECT
  void draw( { }
};
#ifdef X
int twice(int a) {
#else
int twice(long a) {
#endif
  return FOREACH(item, list) { use(item); } 0;
}
LIB_INLINE int whole(int a) { return a; }
"""
    outline = read_code(text, "a.cpp").outline
    assert outline is not None
    assert {"Window", "whole"} <= {item.name for item in outline.declarations}


def test_an_import_list_in_braces_gives_one_import_per_leaf() -> None:
    leaves = list(use_leaves("a::{self, b::{c as d, e::*}, f}"))
    assert leaves == [("a", ""), ("a/b", "c"), ("a/b/e", ""), ("a", "f")]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("<sys/a.h>", "sys/a.h"),
        ('"a.h"', "a.h"),
        ("a.b.c", "a/b/c"),
        ("...a.b", "../../a/b"),
        ("'./x/'", "./x"),
    ],
)
def test_the_path_of_a_module_has_slashes_between_its_parts(raw: str, path: str) -> None:
    assert module_path(raw) == path


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_query_uses_only_kinds_that_are_known(language: Language) -> None:
    query = grammar_of(language).query
    labels = {query.capture_name(index) for index in range(query.capture_count)}  # type: ignore[call-overload]  # a property, whatever the stubs say
    kinds = {label.partition(".")[2] for label in labels if label.startswith("ref.")}
    assert kinds <= {"call", "type", "inherit", "import", "use"}
