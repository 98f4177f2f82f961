"""Stack traces as many languages write them: the text, its frames innermost first, and its error."""

from __future__ import annotations

PYTHON = """Why does this fail?
Traceback (most recent call last):
  File "/app/src/main.py", line 10, in <module>
    main()
  File "/app/src/pool.py", line 42, in acquire
    return self._free.pop()
           ^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/queue.py", line 180, in get
    raise Empty
  File "/app/.venv/lib/python3.11/site-packages/redis/client.py", line 5, in get
    x
redis.exceptions.Timeout: no connection free
Please help."""

CHAINED = """Traceback (most recent call last):
  File "a/first.py", line 1, in one
KeyError: 'host'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b/outer.py", line 2, in two
  File "b/inner.py", line 3, in three
ConfigMissing: set a host"""

NODE = """I see this:
TypeError: Cannot read properties of undefined (reading 'id')
    at loadUser (/srv/app/src/users.ts:31:18)
    at async Promise.all (index 0)
    at Layer.handle [as handle_request] (/srv/app/node_modules/express/lib/router/layer.js:95:5)
    at file:///srv/app/src/server.mjs:12:3
    at App (http://localhost:3000/src/App.tsx?t=17:10:5)
    at node:internal/process/task_queues:95:5"""

JAVA = """Exception in thread "main" java.lang.IllegalStateException: pool exhausted
\tat com.example.web.Handler.handle(Handler.java:17)
\tat java.base/java.lang.Thread.run(Thread.java:833)
Caused by: java.sql.SQLTimeoutException: waited too long
\tat com.example.pool.ConnectionPool.acquire(ConnectionPool.java:42)
\tat com.example.pool.MainKt$run$1.invoke(Main.kt:9)
\t... 12 more"""

GO = """panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
runtime.gopanic({0x45b2a0, 0xc00001})
\t/usr/local/go/src/runtime/panic.go:884 +0x213
main.process(0xc000012345, 0x3)
\t/home/me/app/process.go:21 +0x1d
main.main()
\t/home/me/app/main.go:9 +0x25
exit status 2"""

RUST = """thread 'main' panicked at src/pool.rs:42:9:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: rust_begin_unwind
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/std/src/panicking.rs:665:5
   1: mycrate::pool::acquire
             at ./src/pool.rs:42:9
   2: mycrate::main
             at ./src/main.rs:7:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace."""

RUBY = """app/models/user.rb:42:in `save': undefined method `name' for nil:NilClass (NoMethodError)
\tfrom app/controllers/users_controller.rb:10:in `create'
\tfrom /var/lib/gems/3.0.0/gems/rack-2.2/lib/rack.rb:5:in `call'"""

RUBY_TERMINAL = """Traceback (most recent call last):
\t1: from main.rb:10:in `<main>'
lib/pool.rb:3:in `acquire': pool is empty (RuntimeError)"""

DOTNET = """Unhandled exception. System.InvalidOperationException: Sequence contains no elements
   at System.Linq.ThrowHelper.ThrowNoElementsException()
   at Shop.Cart.Total(Item[] items) in C:\\src\\Shop\\Cart.cs:line 88
   at Shop.Program.Main(String[] args) in C:\\src\\Shop\\Program.cs:line 12"""

PHP = """PHP Fatal error:  Uncaught TypeError: price must be a number in /var/www/src/Cart.php:42
Stack trace:
#0 /var/www/src/Checkout.php(10): Shop\\Cart->add(NULL)
#1 /var/www/vendor/slim/App.php(99): run()
#2 {main}
  thrown in /var/www/src/Cart.php on line 42"""

GDB = """Program received signal SIGSEGV, Segmentation fault.
#0  0x0000555555555171 in pool_acquire (pool=0x0) at src/pool.c:42
#1  0x00007ffff7df0083 in __libc_start_main () from /lib/x86_64-linux-gnu/libc.so.6
#2  main (argc=1, argv=0x7ffe) at src/main.c:7"""

ASAN = """==1234==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x55
READ of size 4 at 0x602000000010 thread T0
    #0 0x55d1c2 in pool_release /home/me/src/pool.c:61:10
    #1 0x55d1ff in main /home/me/src/main.c:9
    #2 0x7f12 in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x2dfff)
freed by thread T0 here:
    #0 0x4937cd in free /build/llvm/compiler-rt/lib/asan/asan_malloc_linux.cpp:52:3
    #1 0x55d1aa in pool_close /home/me/src/pool.c:30:5"""

TRACES = {
    "python": (
        PYTHON,
        ["/app/src/pool.py:42", "/app/src/main.py:10"],
        "redis.exceptions.Timeout no connection free",
    ),
    "python chained": (
        CHAINED,
        ["b/inner.py:3", "b/outer.py:2", "a/first.py:1"],
        "ConfigMissing set a host KeyError",
    ),
    "node": (
        NODE,
        ["/srv/app/src/users.ts:31", "/srv/app/src/server.mjs:12", "src/App.tsx:10"],
        "TypeError Cannot read properties of undefined",
    ),
    "java": (
        JAVA,
        [
            "com/example/pool/ConnectionPool.java:42",
            "com/example/pool/Main.kt:9",
            "com/example/web/Handler.java:17",
        ],
        "java.sql.SQLTimeoutException waited too long java.lang.IllegalStateException pool exhausted",
    ),
    "go": (GO, ["/home/me/app/process.go:21", "/home/me/app/main.go:9"], "runtime error: index out of range"),
    "rust": (RUST, ["src/pool.rs:42", "src/main.rs:7"], "called `Option::unwrap()` on a `None` value"),
    "ruby": (
        RUBY,
        ["app/models/user.rb:42", "app/controllers/users_controller.rb:10"],
        "undefined method `name' for nil:NilClass (NoMethodError)",
    ),
    "ruby on a terminal": (RUBY_TERMINAL, ["lib/pool.rb:3", "main.rb:10"], "pool is empty (RuntimeError)"),
    ".net": (
        DOTNET,
        ["/src/Shop/Cart.cs:88", "/src/Shop/Program.cs:12"],
        "System.InvalidOperationException Sequence contains no elements",
    ),
    "php": (
        PHP,
        ["/var/www/src/Cart.php:42", "/var/www/src/Checkout.php:10"],
        "TypeError price must be a number",
    ),
    "gdb": (GDB, ["src/pool.c:42", "src/main.c:7"], "SIGSEGV, Segmentation fault"),
    "asan": (
        ASAN,
        ["/home/me/src/pool.c:61", "/home/me/src/main.c:9", "/home/me/src/pool.c:30"],
        "AddressSanitizer: heap-use-after-free",
    ),
}
