"""Declarations and references of scripting, functional, JVM and configuration languages, from small real sources."""

from __future__ import annotations

import pytest

from outcrop.parse.code import find_language
from outcrop.parse.code.declarations import first_sentence
from outcrop.parse.code.extract import extract_outline
from outcrop.parse.code.references import import_leaves, module_path
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Declaration, Outline

KOTLIN = """// Größe 🚀
package org.demo.pool

import kotlin.time.Duration
import org.demo.base.*

/** Keeps connections open. More follows. */
@Serializable
data class Pool<T>(val name: String, private val size: Int = 3) : Base<T>(name), Closeable {
    companion object {
        const val MAX = 10
        fun create(): Pool<String> = Pool("x")
    }

    var free: Int = 0
        private set

    constructor(size: Int) : this("default", size)

    /** Hands one out. */
    @Throws(IOException::class)
    override suspend fun acquire(wait: Duration): Lease<T> {
        val lease = store.take(wait)
        return when (lease) {
            is Good if lease.isNew() -> Lease(lease)
            else -> fail("none")
        }
    }

    enum class State(val code: Int) {
        OPEN(1),
        CLOSED(2);

        fun label() = name
    }
}

fun <T : Any> List<T>.second(): T? = this[1]

val String.shouted: String
    get() = uppercase()

interface Closeable {
    fun close()
}

object Registry : Closeable {
    val pools = mutableListOf<Pool<*>>()
    override fun close() {}
}

typealias Handler = (Int) -> Unit
annotation class Internal
val LIMIT = 3
"""

SCALA = """// Größe 🚀
package org.demo

import scala.collection.mutable.{Map, Set => MutableSet}
import org.demo.base._
import java.util.UUID

/** Keeps connections open.
  *
  * @tparam T what is kept
  */
@deprecated("old", "1.0")
sealed abstract class Pool[T](val name: String)(implicit ec: Context) extends Base(name) with Closeable[T] {
  val size: Int = 3
  private var free = 1
  type Key = UUID
  def this(size: Int) = this("default")

  /** Hands one out. */
  override def acquire[A](wait: Duration): Future[A] = {
    val lease = store.take(wait)
    new Lease(lease)
    Registry.note(lease)
  }
  def close(): Unit
}

object Pool {
  val Max = 10
  def apply(name: String): Pool[Int] = create(name)
}

trait Closeable[T] { def close(): Unit }

case class Lease(id: Int) derives Codec

enum State extends Named:
  case Open, Closed

extension (text: String)
  def shouted: String = text.toUpperCase

given leaseOrder: Ordering[Lease] with
  def compare(a: Lease, b: Lease) = 0

def run(pool: Pool[Int]): Unit = pool.acquire(second)
"""

RUBY = """# frozen_string_literal: true

# Größe 🚀
require "set"
require_relative "base/store"

module Demo
  # Keeps connections open. More follows.
  #
  # @param size [Integer] how many
  class Pool < Base::Store
    include Enumerable
    extend Forwardable

    MAX = 10
    attr_reader :name, :size

    # Builds it.
    def initialize(size, wait: 3)
      @size = size
    end

    def self.create(name) = new(name)

    # Hands one out.
    def acquire(wait = nil)
      lease = store.take(wait)
      Lease.new(lease, LIMIT)
    end

    def ==(other)
      other.size == size
    end
    alias_method :take, :acquire

    private

    def fail!; end
  end

  Point = Struct.new(:x, :y) do
    def length
      Math.sqrt(x)
    end
  end
end

describe Demo::Pool do
  it "hands one out" do
    expect(subject.acquire)
  end
end
"""

PHP = r"""<?php declare(strict_types=1);
// Größe 🚀
namespace Demo\Pool;

use Demo\Base\Store;
use Psr\Log\{LoggerInterface, LogLevel as Level};
use function Demo\helper;

require_once __DIR__ . '/legacy.php';

/**
 * Keeps connections open.
 *
 * @author someone
 */
#[Service(lazy: true)]
abstract class Pool extends Store implements Countable, \IteratorAggregate
{
    use LoggerTrait;

    public const MAX = 10;
    private ?int $size = 3;

    /** Builds it. */
    public function __construct(private readonly string $name) { parent::__construct($name); }

    /**
     * @param float $wait seconds
     * @return Lease the one that is free
     */
    #[Pure]
    public function acquire(float $wait, LoggerInterface $log): ?Lease
    {
        $lease = $this->store->take($wait);
        $log->info(Level::INFO);
        return new Lease(helper($lease));
    }

    abstract protected function close(): void;
}

interface Closable extends Named {}
trait Counting { public static function zero(): int { return 0; } }
enum State: string { case Open = 'o'; case Closed = 'c'; }
function run(Pool|State $pool): void { Registry::note($pool); }
const LIMIT = 3;
define('OTHER', 4);
"""

SWIFT = """// Größe 🚀
import Foundation
@testable import Demo

/// Keeps connections open. More follows.
@available(iOS 13, *)
public final class Pool<T>: Base, Closeable {
    /// The one for all.
    public static let shared = Pool(size: 3)
    private var size: Int = 3
    var isFull: Bool { size > limit }

    public init(size: Int, name label: String = "x") {
        super.init()
        register(self)
    }

    deinit { close() }

    /// Hands one out.
    @discardableResult
    open func acquire<K: Key>(_ key: K, within wait: Duration) async throws -> Lease<T> {
        let lease = store.inner.take(wait)
        return Lease(lease, of: Kind.shared)
    }

    subscript(index: Int) -> Lease<T> { leases[index] }

    enum State: String {
        case open, closed
        case waiting(Int)
    }

    typealias Handler = (Lease<T>) -> Void
}

extension Pool.State: Codable {
    func label() -> String { rawValue }
}

protocol Closeable: AnyObject {
    associatedtype Reason
    var isOpen: Bool { get }
    func close() -> Reason
}

struct Lease<T> { let id: UUID }
func == (left: Lease<Int>, right: Lease<Int>) -> Bool { left.id == right.id }
let limit = 10
"""

LUA = """-- Größe 🚀
local Base = require("demo.base.store")
local M = {}

--- Keeps connections open.
--- More follows.
---@param size number
---@return table
function M.create(size)
  local pool = setmetatable({}, { __index = M })
  Base.open(pool)
  return pool
end

---@param wait number
function M:acquire(wait)
  local lease = self.store:take(wait)
  return helper(lease, M.limit)
end

local function helper(...)
  return ...
end

M.close = function(pool)
  pool:stop()
end

M.limit = 10
M.handlers = {
  open = function(event) notify(event) end,
}
VERSION = "1"

describe("pool", function()
  it("opens", function() M.create(3) end)
end)
return M
"""

ELIXIR = '''# Größe 🚀
defmodule Demo.Pool do
  @moduledoc """
  Keeps connections open. More follows.
  """
  use GenServer
  alias Demo.Base.{Store, Lease}
  import Ecto.Query, only: [from: 2]
  @behaviour Demo.Closeable

  @timeout 5_000
  @typedoc "What a pool is."
  @type t :: %__MODULE__{size: integer}
  defstruct size: 3, free: []

  @doc "Closes it."
  @callback close(t) :: :ok

  @doc """
  Hands one out.

  Waits when there is none.
  """
  @spec acquire(t, integer) :: Lease.t()
  def acquire(pool, wait) when is_integer(wait) do
    pool |> Store.take(wait) |> finish()
  end

  def acquire(_pool, nil), do: raise("no time")

  @doc false
  def size(pool), do: pool.size

  defp finish(%Lease{} = lease), do: Enum.map(lease, &note/1)

  defmacro with_pool(pool, do: block) do
    quote do: unquote(block)
  end

  defguard is_free(pool) when pool.size > 0
  defdelegate stop(pool), to: Store
end

defprotocol Demo.Closeable do
  def close(value)
end

defimpl Demo.Closeable, for: Demo.Pool do
  def close(pool), do: pool
end

test "hands one out" do
  assert Demo.Pool.acquire(1, 2)
end
'''

HASKELL = """{-# LANGUAGE DerivingStrategies #-}
-- | Pools – geprüft 🚀
module Demo.Pool (Pool(..), acquire) where

import Data.Text (Text, pack)
import qualified Data.Map.Strict as Map

-- | Keeps connections open. More follows.
data Pool a = Pool { poolName :: Text, poolSize :: !Int } | Closed
  deriving (Eq, Show)

newtype Lease' = Lease' { unLease :: Int }
type Pools a = [Pool a]

-- | What can be closed.
class Named a => Closeable a where
  -- | Closes it.
  close :: a -> IO ()
  close _ = pure ()

instance Closeable (Pool a) where
  close Closed = report "closed"
  close pool = release pool

-- | Hands one out. Waits for it.
acquire :: Closeable a
  => Pool a  -- ^ where from
  -> Int
  -> Maybe Lease'
acquire Closed _ = Nothing
-- the usual case
acquire pool wait
  | wait > 0 = Map.lookup wait (leases pool)
  | otherwise = Nothing
  where leases = table

infixl 6 <+>
(<+>) :: Int -> Int -> Int
a <+> b = add a b

helper x = pack x
"""

ZIG = """//! Größe 🚀
const std = @import("std");
const base = @import("base/store.zig");

/// Keeps connections open.
pub const Pool = struct {
    /// How many.
    size: usize = 3,
    store: *base.Store,

    pub const max = 10;

    /// Hands one out.
    pub fn acquire(self: *Pool, wait: u64) !?Lease {
        const lease = try self.store.take(wait);
        std.debug.print("{}", .{lease});
        return Lease{ .id = next(lease) };
    }
};

pub const State = enum(u8) { open, closed };
const Failure = error{ Full, Closed };
var counter: usize = 0;

pub fn List(comptime T: type) type {
    return struct {
        items: []T,
        pub fn len(self: @This()) usize {
            return self.items.len;
        }
    };
}

test "hands one out" {
    try std.testing.expect(true);
}
"""

BASH = """#!/usr/bin/env bash
# Größe 🚀
set -euo pipefail
source ./lib/store.sh
. "$(dirname "$0")/base.sh"

POOL_SIZE=3
export POOL_NAME="x"
readonly MAX=10

# Hands one out.
pool_acquire() {
  local lease
  lease="$(store_take "$1" | pool_clean)"
  pool_echo "${lease}" || return 1
}

function pool_close {
  pool_acquire "$@"
}

pool_close "$@"
"""

SQL = """-- Größe 🚀
CREATE SCHEMA demo;

-- Who waits.
CREATE TABLE IF NOT EXISTS demo.leases (
  id SERIAL PRIMARY KEY,
  pool_id INT NOT NULL REFERENCES pools (id),
  name TEXT
);
CREATE VIEW busy AS SELECT l.id FROM demo.leases l JOIN pools p ON p.id = l.pool_id;
CREATE OR REPLACE FUNCTION take(wait int) RETURNS int AS $$
  SELECT max(id) FROM leases;
$$ LANGUAGE sql;
CREATE PROCEDURE close_all(pool int) LANGUAGE sql AS $$
  DELETE FROM leases WHERE pool_id = pool;
$$;
CREATE UNIQUE INDEX leases_name ON leases (name);
CREATE TRIGGER touched BEFORE INSERT ON leases FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TYPE mood AS ENUM ('open', 'closed');
ALTER TABLE leases ADD COLUMN mood mood;
"""

CSS = """/* Größe 🚀 */
@import url("base/reset.css");
:root {
  --gap: 4px;
}
/* Buttons. */
.button, a.link:hover > b {
  color: var(--gap);
  animation: spin 1s;
}
@media (max-width: 600px) {
  .button { color: red }
}
@keyframes spin {
  from { top: 0 }
  to { top: 1px }
}
@font-face { font-family: X; }
"""

DOCKERFILE = r"""# syntax=docker/dockerfile:1

ARG VERSION=3.20

# Builds it – geprüft 🚀
FROM golang:1.21 AS build
WORKDIR /src
COPY . .
RUN go build \
    ./...

# Runs it.
FROM --platform=linux/amd64 alpine:${VERSION}
COPY --from=build /src/app /app
ENV POOL_SIZE=3
ENTRYPOINT ["/app"]
"""

MAKE = """# Größe 🚀
include config.mk rules/common.mk
CC := gcc
export FLAGS ?= -O2

define announce
@echo $(1)
endef

.PHONY: all clean

# Builds everything.
all: build/pool.o test ## build
	$(CC) $(FLAGS) -o pool

build/%.o: src/%.c | build
	$(CC) -c $<

clean distclean:
	rm -rf build
"""

HCL = """# Größe 🚀
terraform {
  required_version = ">= 1.5"
}

variable "ami" {
  type = string
}

# The web server.
resource "aws_instance" "web" {
  ami       = var.ami
  subnet_id = module.network.subnets[0]
  tags      = merge(local.tags, { Name = "x-${var.name}" })
  zone      = data.aws_zone.main.name
}

locals {
  tags = { team = "pool" }
}

module "network" {
  source = "./modules/network"
}

output "address" {
  value = aws_instance.web.public_ip
}

data "aws_zone" "main" {}
"""

SOURCES = {
    "pool.kt": KOTLIN,
    "Pool.scala": SCALA,
    "pool.rb": RUBY,
    "Pool.php": PHP,
    "Pool.swift": SWIFT,
    "pool.lua": LUA,
    "pool.ex": ELIXIR,
    "Pool.hs": HASKELL,
    "pool.zig": ZIG,
    "pool.sh": BASH,
    "pool.sql": SQL,
    "pool.css": CSS,
    "Dockerfile": DOCKERFILE,
    "Makefile": MAKE,
    "main.tf": HCL,
}

DECLARATIONS = {
    "pool.kt": """
class Pool
property Pool.name
property Pool.size
constant Pool.MAX
method Pool.create
property Pool.free
constructor Pool.constructor
method Pool.acquire
enum Pool.State
property Pool.State.code
variant Pool.State.OPEN
variant Pool.State.CLOSED
method Pool.State.label
function List.second
property String.shouted
interface Closeable
method Closeable.close
object Registry
property Registry.pools
method Registry.close
type Handler
class Internal
constant LIMIT
""",
    "Pool.scala": """
class Pool
property Pool.size
variable Pool.free
type Pool.Key
constructor Pool.this
method Pool.acquire
method Pool.close
object Pool
constant Pool.Max
method Pool.apply
trait Closeable
method Closeable.close
class Lease
enum State
variant State.Open
variant State.Closed
function String.shouted
object leaseOrder
method leaseOrder.compare
function run
""",
    "pool.rb": """
module Demo
class Demo.Pool
constant Demo.Pool.MAX
property Demo.Pool.name
property Demo.Pool.size
constructor Demo.Pool.initialize
method Demo.Pool.create
method Demo.Pool.acquire
method Demo.Pool.==
method Demo.Pool.take
method Demo.Pool.fail!
class Demo.Point
method Demo.Point.length
test Demo.Pool
test Demo.Pool.hands one out
""",
    "Pool.php": """
class Pool
constant Pool.MAX
property Pool.size
constructor Pool.__construct
method Pool.acquire
method Pool.close
interface Closable
trait Counting
method Counting.zero
enum State
variant State.Open
variant State.Closed
function run
constant LIMIT
constant OTHER
""",
    "Pool.swift": """
class Pool
property Pool.shared
property Pool.size
property Pool.isFull
constructor Pool.init
destructor Pool.deinit
method Pool.acquire
method Pool.subscript
enum Pool.State
variant Pool.State.open
variant Pool.State.closed
variant Pool.State.waiting
type Pool.Handler
extension Pool.State
method Pool.State.label
protocol Closeable
type Closeable.Reason
property Closeable.isOpen
method Closeable.close
struct Lease
property Lease.id
operator ==
constant limit
""",
    "pool.lua": """
variable M
function M.create
method M.acquire
function helper
function M.close
field M.limit
field M.handlers
function M.handlers.open
variable VERSION
test pool
test pool.opens
""",
    "pool.ex": """
module Demo.Pool
constant Demo.Pool.timeout
type Demo.Pool.t
struct Demo.Pool.defstruct
callback Demo.Pool.close
function Demo.Pool.acquire
function Demo.Pool.size
function Demo.Pool.finish
macro Demo.Pool.with_pool
macro Demo.Pool.is_free
function Demo.Pool.stop
protocol Demo.Closeable
method Demo.Closeable.close
impl Demo.Closeable.Pool
method Demo.Closeable.Pool.close
test hands one out
""",
    "Pool.hs": """
data Pool
variant Pool.Pool
field Pool.Pool.poolName
field Pool.Pool.poolSize
variant Pool.Closed
newtype Lease'
field Lease'.unLease
type Pools
class Closeable
method Closeable.close
instance Closeable.(Pool a)
method Closeable.(Pool a).close
function acquire
function <+>
function helper
""",
    "pool.zig": """
struct Pool
field Pool.size
field Pool.store
constant Pool.max
method Pool.acquire
enum State
variant State.open
variant State.closed
enum Failure
variable counter
function List
field List.items
method List.len
test hands one out
""",
    "pool.sh": """
variable POOL_SIZE
variable POOL_NAME
variable MAX
function pool_acquire
function pool_close
""",
    "pool.sql": """
schema demo
table demo.leases
field demo.leases.id
field demo.leases.pool_id
field demo.leases.name
view busy
function take
procedure close_all
index leases_name
trigger touched
type mood
""",
    "pool.css": """
rule :root
constant :root.--gap
rule .button, a.link:hover > b
media (max-width: 600px)
rule (max-width: 600px)..button
keyframes spin
rule @font-face
""",
    "Dockerfile": """
variable VERSION
stage build
stage alpine:${VERSION}
variable alpine:${VERSION}.POOL_SIZE
""",
    "Makefile": """
variable CC
variable FLAGS
macro announce
target all
target build/%.o
target clean
target distclean
""",
    "main.tf": """
block terraform
variable ami
resource aws_instance.web
locals locals
constant locals.tags
module network
output address
data aws_zone.main
""",
}

SIGNATURES = {
    "pool.kt": {
        "Pool": "data class Pool<T>(val name: String, private val size: Int = 3) : Base<T>(name), Closeable",
        "Pool.acquire": "override suspend fun acquire(wait: Duration): Lease<T>",
        "Pool.State": "enum class State(val code: Int)",
        "List.second": "fun <T : Any> List<T>.second(): T?",
    },
    "Pool.scala": {
        "Pool.acquire": "override def acquire[A](wait: Duration): Future[A]",
        "Lease": "case class Lease(id: Int) derives Codec",
        "leaseOrder": "given leaseOrder: Ordering[Lease] with",
    },
    "pool.rb": {
        "Demo.Pool": "class Pool < Base::Store",
        "Demo.Pool.name": "attr_reader :name, :size",
        "Demo.Pool.initialize": "def initialize(size, wait: 3)",
        "Demo.Pool.create": "def self.create(name)",
    },
    "Pool.php": {
        "Pool": "abstract class Pool extends Store implements Countable, \\IteratorAggregate",
        "Pool.__construct": "public function __construct(private readonly string $name)",
        "Pool.acquire": "public function acquire(float $wait, LoggerInterface $log): ?Lease",
    },
    "Pool.swift": {
        "Pool": "public final class Pool<T>: Base, Closeable",
        "Pool.isFull": "var isFull: Bool",
        "Pool.acquire": "open func acquire<K: Key>(_ key: K, within wait: Duration) async throws -> Lease<T>",
        "Pool.State": "enum State: String",
        "==": "func == (left: Lease<Int>, right: Lease<Int>) -> Bool",
    },
    "pool.lua": {
        "M.create": "function M.create(size)",
        "M.acquire": "function M:acquire(wait)",
        "M.close": "M.close = function(pool)",
    },
    "pool.ex": {
        "Demo.Pool.t": "@type t :: %__MODULE__{size: integer}",
        "Demo.Pool.acquire": "def acquire(pool, wait) when is_integer(wait)",
        "Demo.Pool.size": "def size(pool)",
        "Demo.Pool.stop": "defdelegate stop(pool), to: Store",
    },
    "Pool.hs": {
        "Pool": "data Pool a",
        "Closeable.(Pool a)": "instance Closeable (Pool a) where",
        "acquire": "acquire :: Closeable a => Pool a -> Int -> Maybe Lease'",
        "<+>": "(<+>) :: Int -> Int -> Int",
        "helper": "helper x",
    },
    "pool.zig": {
        "Pool": "pub const Pool = struct",
        "Pool.acquire": "pub fn acquire(self: *Pool, wait: u64) !?Lease",
        "List": "pub fn List(comptime T: type) type",
    },
    "pool.sh": {
        "pool_acquire": "pool_acquire()",
        "pool_close": "function pool_close",
    },
    "pool.sql": {
        "demo.leases": "CREATE TABLE IF NOT EXISTS demo.leases",
        "take": "CREATE OR REPLACE FUNCTION take(wait int) RETURNS int",
        "close_all": "CREATE PROCEDURE close_all(pool int) LANGUAGE sql",
        "leases_name": "CREATE UNIQUE INDEX leases_name ON leases",
    },
    "pool.css": {
        ".button, a.link:hover > b": ".button, a.link:hover > b",
        "(max-width: 600px)": "@media (max-width: 600px)",
    },
    "Dockerfile": {
        "build": "FROM golang:1.21 AS build",
        "alpine:${VERSION}": "FROM --platform=linux/amd64 alpine:${VERSION}",
    },
    "Makefile": {
        "all": "all: build/pool.o test",
        "build/%.o": "build/%.o: src/%.c | build",
    },
    "main.tf": {
        "aws_instance.web": 'resource "aws_instance" "web"',
        "locals": "locals",
    },
}

DOCS = {
    "pool.kt": {
        "Pool": "Keeps connections open.",
        "Pool.acquire": "Hands one out.",
    },
    "Pool.scala": {
        "Pool": "Keeps connections open.",
        "Pool.acquire": "Hands one out.",
    },
    "pool.rb": {
        "Demo.Pool": "Keeps connections open.",
        "Demo.Pool.initialize": "Builds it.",
        "Demo.Pool.acquire": "Hands one out.",
    },
    "Pool.php": {
        "Pool": "Keeps connections open.",
        "Pool.__construct": "Builds it.",
        "Pool.acquire": "Lease the one that is free",
    },
    "Pool.swift": {
        "Pool": "Keeps connections open.",
        "Pool.shared": "The one for all.",
        "Pool.acquire": "Hands one out.",
    },
    "pool.lua": {
        "M.create": "Keeps connections open.",
    },
    "pool.ex": {
        "Demo.Pool": "Keeps connections open.",
        "Demo.Pool.t": "What a pool is.",
        "Demo.Pool.close": "Closes it.",
        "Demo.Pool.acquire": "Hands one out.",
    },
    "Pool.hs": {
        "Pool": "Keeps connections open.",
        "Closeable": "What can be closed.",
        "Closeable.close": "Closes it.",
        "acquire": "Hands one out.",
    },
    "pool.zig": {
        "Pool": "Keeps connections open.",
        "Pool.size": "How many.",
        "Pool.acquire": "Hands one out.",
    },
    "pool.sh": {
        "pool_acquire": "Hands one out.",
    },
    "pool.sql": {
        "demo": "Größe 🚀",
        "demo.leases": "Who waits.",
    },
    "pool.css": {
        ".button, a.link:hover > b": "Buttons.",
    },
    "Dockerfile": {
        "build": "Builds it – geprüft 🚀",
        "alpine:${VERSION}": "Runs it.",
    },
    "Makefile": {
        "all": "Builds everything.",
    },
    "main.tf": {
        "terraform": "Größe 🚀",
        "aws_instance.web": "The web server.",
    },
}

REFERENCES = {
    "pool.kt": """
import kotlin/time/Duration
import org/demo/base
inherit Base
inherit Closeable
call Pool
call take of store
call Lease
call fail
call uppercase
inherit Closeable
call mutableListOf
""",
    "Pool.scala": """
import scala/collection/mutable/Map
import scala/collection/mutable/Set
import org/demo/base
import java/util/UUID
inherit Base
inherit Closeable
call take of store
call Lease
call note of Registry
call create
inherit Codec
inherit Named
inherit Ordering
call acquire of pool
""",
    "pool.rb": """
import set
import base/store
inherit Store of Base
inherit Enumerable
inherit Forwardable
call take of store
call Lease
call size of other
call Struct
call sqrt of Math
call expect
call acquire of subject
""",
    "Pool.php": """
import Demo/Base/Store
import Psr/Log taking LoggerInterface
import Psr/Log taking LogLevel
import Demo/helper
import ./legacy.php
inherit Store
inherit Countable
inherit IteratorAggregate
inherit LoggerTrait
call __construct of parent
call take of $this->store
call info of $log
call Lease
call helper
inherit Named
call note of Registry
call define
""",
    "Pool.swift": """
import Foundation
import Demo
inherit Base
inherit Closeable
call Pool
call init of super
call register
call close
call take of store.inner
call Lease
call leases
inherit String
inherit Codable
inherit AnyObject
""",
    "pool.lua": """
import demo/base/store
call open of Base
call take of self.store
call helper
call stop of pool
call notify
call create of M
""",
    "pool.ex": """
import GenServer
inherit GenServer
import Demo/Base taking Store
import Demo/Base taking Lease
import Ecto/Query
inherit Closeable of Demo
call acquire
call take of Store
call finish
call size of pool
call map of Enum
call size of pool
inherit Closeable of Demo
call acquire of Demo.Pool
""",
    "Pool.hs": """
import Data/Text taking Text
import Data/Text taking pack
import Data/Map/Strict
inherit Eq
inherit Show
inherit Named
call pure
inherit Closeable
call report
call release
call lookup of Map
call leases
call add
call pack
""",
    "pool.zig": """
import std
import base/store.zig
call take of self.store
call print of std.debug
call next
call expect of std.testing
""",
    "pool.sh": """
import ./lib/store.sh
import ./base.sh
call store_take
call pool_clean
call pool_echo
call pool_acquire
call pool_close
""",
    "pool.sql": """
use pools
use leases of demo
use pools
call max
use leases
use leases
use leases
use leases
call touch
use leases
""",
    "pool.css": """
import base/reset.css
use --gap
use spin
""",
    "Dockerfile": """
use golang
use build
""",
    "Makefile": """
import config.mk
import rules/common.mk
use build/pool.o
use test
use CC
use FLAGS
use src/%.c
use build
use CC
""",
    "main.tf": """
use ami of var
use network of module
call merge
use tags of local
use name of var
use main of aws_zone
import ./modules/network
use web of aws_instance
""",
}


def outline_of(path: str, text: str | None = None) -> Outline:
    source = SOURCES[path] if text is None else text
    language = find_language(path, source)
    assert language is not None
    return extract_outline(source, language)


def one(path: str, qualified: str) -> tuple[Declaration, str]:
    found = [item for item in outline_of(path).declarations if item.qualified == qualified]
    assert len(found) == 1, found
    return found[0], SOURCES[path][found[0].start : found[0].end]


@pytest.mark.parametrize("path", SOURCES)
def test_every_declaration_is_found_with_its_kind_and_place(path: str) -> None:
    found = [f"{item.kind} {item.qualified}" for item in outline_of(path).declarations]
    assert found == DECLARATIONS[path].strip().splitlines()


@pytest.mark.parametrize("path", SOURCES)
def test_signatures_are_one_line_without_body_comments_or_annotations(path: str) -> None:
    found = {item.qualified: item.signature for item in reversed(outline_of(path).declarations)}
    assert {name: found[name] for name in SIGNATURES[path]} == SIGNATURES[path]


@pytest.mark.parametrize("path", SOURCES)
def test_documentation_is_the_first_sentence_of_the_comment_at_the_declaration(path: str) -> None:
    found = {item.qualified: item.doc for item in outline_of(path).declarations if item.doc}
    assert found == DOCS[path]


@pytest.mark.parametrize("path", SOURCES)
def test_imports_parents_and_calls_are_found_in_order(path: str) -> None:
    wanted = REFERENCES[path].strip().splitlines()
    kinds = {line.split()[0] for line in wanted}
    joints = {"import": "taking"}
    found = [
        f"{item.kind} {item.name}"
        + (f" {joints.get(item.kind, 'of')} {item.qualifier}" if item.qualifier else "")
        for item in outline_of(path).references
        if item.kind in kinds
    ]
    assert found == wanted


@pytest.mark.parametrize("path", SOURCES)
def test_offsets_count_code_points_also_after_text_that_is_not_ascii(path: str) -> None:
    text, outline = SOURCES[path], outline_of(path)
    assert not text.isascii()
    for item in outline.declarations:
        assert 0 <= item.start <= item.at <= item.body <= item.end <= len(text)
        assert item.name in text[item.at : item.end] or item.kind == "impl"
        first = item.signature.split()[0]
        assert text[item.at :].startswith(first) or path == "pool.kt"  # whose `annotation class` is blanked
    for reference in outline.references:
        if reference.kind != "import" and not text.startswith("--from=", reference.start):
            assert text[reference.start :].startswith(
                (
                    reference.name,
                    f"{reference.qualifier}.{reference.name}",
                    f"{reference.qualifier}::{reference.name}",
                )
            )
    assert outline.header_end <= min(item.start for item in outline.declarations if item.kind not in SMALL)
    assert list(outline.cuts) == sorted(set(outline.cuts))


SMALL = {"constant", "variable", "field", "property"}


@pytest.mark.parametrize("path", SOURCES)
def test_a_file_with_syntax_errors_still_gives_its_declarations(path: str) -> None:
    text = SOURCES[path]
    middle = text.index("\n", len(text) // 2) + 1
    whole = {item.name for item in outline_of(path).declarations}
    for broken, share in (
        (text[: len(text) * 2 // 3], 0.2),
        (text[:middle] + "  open(one\n" + text[middle:], 0.5),
        (text[:middle] + "<<<<<<< HEAD\n" + text[middle:], 0.35),
        (text + "\n)}} ((( %%% '", 0.75),
    ):
        found = {item.name for item in outline_of(path, broken).declarations}
        assert len(found & whole) >= share * len(whole)


def test_clauses_of_one_function_are_one_declaration() -> None:
    _, elixir = one("pool.ex", "Demo.Pool.acquire")
    assert elixir.startswith('@doc """\n  Hands one out.')
    assert elixir.endswith('def acquire(_pool, nil), do: raise("no time")')
    _, haskell = one("Pool.hs", "acquire")
    assert haskell.startswith("-- | Hands one out.")
    assert haskell.endswith("where leases = table")


def test_a_clause_with_documentation_of_its_own_is_a_declaration_of_its_own() -> None:
    text = 'defmodule A do\n  def run(a), do: a\n  @doc "Twice."\n  def run(a, b), do: {a, b}\nend\n'
    assert [item.doc for item in outline_of("a.ex", text).declarations] == ["", "", "Twice."]


def test_a_stage_of_a_dockerfile_reaches_to_the_next() -> None:
    _, stage = one("Dockerfile", "build")
    assert stage.startswith("# Builds it")
    assert stage.endswith("./...")


def test_a_procedure_that_the_grammar_does_not_know_is_found_whole() -> None:
    declaration, text = one("pool.sql", "close_all")
    assert text.endswith("$$;")
    assert SOURCES["pool.sql"][declaration.body :].startswith("AS $$")


def test_annotations_belong_to_a_declaration_but_not_to_its_signature() -> None:
    declaration, text = one("Pool.php", "Pool.acquire")
    assert text.startswith("/**")
    assert SOURCES["Pool.php"][declaration.at :].startswith("public function")


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("Dockerfile.dev", "dockerfile"),
        ("deploy/Containerfile", "dockerfile"),
        ("api.dockerfile", "dockerfile"),
        ("Dockerfile.dockerignore", None),
        ("GNUmakefile", "make"),
        ("rules.mk", "make"),
        ("Rakefile", "ruby"),
        ("Gemfile.lock", None),
        ("prod.tfvars", "hcl"),
        ("build.gradle.kts", "kotlin"),
        ("style.scss", None),
    ],
)
def test_a_file_is_known_by_its_name(path: str, language: str | None) -> None:
    found = find_language(path)
    assert (found.name if found is not None else None) == language


def test_a_script_is_known_by_its_first_line() -> None:
    found = find_language("bin/run", "#!/usr/bin/env -S bash -e\necho 1\n")
    assert found is not None
    assert found.name == "bash"


@pytest.mark.parametrize(
    ("statement", "paths"),
    [
        ("import a.b.C", ["a/b/C"]),
        ("import a.b.{C, D => E, F as G}", ["a/b/C", "a/b/D", "a/b/F"]),
        ("import a.b._, c.d.*", ["a/b", "c/d"]),
    ],
)
def test_a_scala_import_gives_one_path_per_imported_name(statement: str, paths: list[str]) -> None:
    assert [path for path, _ in import_leaves(statement)] == paths


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ('"$DIR/lib/a.sh"', "./lib/a.sh"),
        ("${HERE}/a.sh", "./a.sh"),
        ("$(dirname $0)/a.sh", "./a.sh"),
        ("__DIR__ . '/a.php'", "./a.php"),
        ("common.mk", "common.mk"),
        ("A\\B\\C", "A/B/C"),
    ],
)
def test_a_computed_folder_is_taken_for_the_files_own(raw: str, path: str) -> None:
    assert module_path(raw) == path


@pytest.mark.parametrize(
    ("comment", "sentence"),
    [
        ("---@class Pool\n---@field size number\n--- Keeps them. All.", "Keeps them."),
        ("-- | Does it.\n-- More.", "Does it."),
        ("{- | Does it. -}", "Does it."),
        ("## Does it\n# @param x [Integer]", "Does it"),
        ("/**\n * @return Lease the free one\n */", "Lease the free one"),
        ("---@param size number", ""),
        ("=begin\nDoes it.\n=end", "Does it."),
    ],
)
def test_documentation_tags_are_not_sentences(comment: str, sentence: str) -> None:
    assert first_sentence(comment) == sentence


def test_a_comment_after_an_indented_block_belongs_to_what_follows() -> None:
    text = "class A {\n  def one: Int =\n    1\n\n  /** Counts on. */\n  def two: Int =\n    2\n}\n"
    _, one_, two = outline_of("a.scala", text).declarations
    assert text[one_.start : one_.end] == "def one: Int =\n    1"
    assert (text[two.start : two.end], two.doc) == ("/** Counts on. */\n  def two: Int =\n    2", "Counts on.")


@pytest.mark.parametrize(
    ("path", "data", "language"),
    [
        ("Makefile", b"all: build\n", "make"),
        ("deploy/Dockerfile.dev", b"FROM debian\nRUN true\n", "dockerfile"),
        ("bin/tool", b"#!/bin/sh\ngreet() { echo hi; }\n", "bash"),
        ("bin/serve", b"#!/usr/bin/env python3\ndef serve():\n    pass\n", "python"),
        ("LICENSE", b"Permission is hereby granted\n", ""),
        ("notes.unknown", b"plain words\n", ""),
    ],
)
def test_files_without_a_telling_extension_are_source_by_name_or_first_line(
    path: str, data: bytes, language: str
) -> None:
    document = parse(data, path=path, limits=ParseLimits(20, 1 << 30))
    assert (document.outline.language if document.outline else "") == language
    assert document.kind == ("code" if language else "text")
