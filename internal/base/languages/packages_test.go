// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"testing"
	"unicode/utf8"
)

func TestManagedFunctionsHaveThePackageAsTheirModule(t *testing.T) {
	for _, c := range []struct{ system, function, file, want string }{
		{"CPython", "execute", "/srv/venv/lib/python3.12/site-packages/django/db/utils.py", "django.db"},
		{"CPython", "get", "/usr/lib/python3/dist-packages/six.py", "six"},
		{"CPython", "loads", "/usr/lib/python3.11/json/__init__.py", "json"},
		{"CPython", "wait", "/usr/lib/python3.11/threading.py", "threading"},
		{"CPython", "run", "/usr/lib/python3.13t/asyncio/base_events.py", "asyncio"},
		{"CPython", "_find_and_load", "<frozen importlib._bootstrap>", "importlib._bootstrap"},
		{"CPython", "index", "/srv/shop/views.py", "views.py"},
		{"CPython", "f", "<string>", "<string>"},
		{"CPython", "f", "", ""},
		{"HotSpot", "com.sun.net.httpserver.HttpServer.start", "HttpServer.java", "com.sun.net.httpserver"},
		{"HotSpot", "boolean java.util.concurrent.ThreadPoolExecutor.addWorker(java.lang.Runnable, boolean)", "",
			"java.util.concurrent"},
		{"HotSpot", "com.shop.Cart$$Lambda/0x000070001.run", "", "com.shop"},
		{"HotSpot", "java.lang.ref.Reference.<clinit>", "Reference.java", "java.lang.ref"},
		{"HotSpot", "App.work", "App.java", "App.java"},
		{"HotSpot", "com.shop.cart.total", "Cart.kt", "com.shop"},
		{"Node", "handle", "/srv/node_modules/express/lib/router.js", "express"},
		{"Node", "f", "/srv/node_modules/a/node_modules/@scope/name/x.js", "@scope/name"},
		{"Node", "work", "/srv/app.js", "app.js"},
		{"Node", "inspect", "node:internal/util/inspect", "inspect"},
		{"Ruby", "call", "/var/lib/gems/3.1.0/gems/rack-2.2.3/lib/rack/handler.rb", "rack"},
		{"PHP", "handle", "/srv/vendor/symfony/http-kernel/Kernel.php", "symfony/http-kernel"},
	} {
		if got := OfMapping("["+c.system+" 1.0]").Package(c.function, c.file); got != c.want {
			t.Errorf("%s: %s of %q: %q, want %q", c.system, c.function, c.file, got, c.want)
		}
	}
}

func FuzzModules(f *testing.F) {
	f.Add("HotSpot", "a.B.c(d)", "B.java")
	f.Add("CPython", "", "/lib/python3.1/")
	f.Add("Node", "x", "/node_modules/@/")
	f.Fuzz(func(t *testing.T, system, function, file string) {
		if !utf8.ValidString(function) || !utf8.ValidString(file) {
			t.Skip("what is shown was made printable")
		}
		l := OfSystem(system)
		if l == nil || l.Package == nil {
			t.Skip("no language with packages")
		}
		if got := l.Package(function, file); len(got) > len(function)+len(file) {
			t.Errorf("%q", got)
		}
	})
}
