// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"
	"unicode/utf8"
)

func TestManagedFunctionsHaveThePackageAsTheirModule(t *testing.T) {
	for _, c := range []struct{ kind, function, file, want string }{
		{"cpython", "execute", "/srv/venv/lib/python3.12/site-packages/django/db/utils.py", "django.db"},
		{"cpython", "get", "/usr/lib/python3/dist-packages/six.py", "six"},
		{"cpython", "loads", "/usr/lib/python3.11/json/__init__.py", "json"},
		{"cpython", "wait", "/usr/lib/python3.11/threading.py", "threading"},
		{"cpython", "_find_and_load", "<frozen importlib._bootstrap>", "importlib._bootstrap"},
		{"cpython", "index", "/srv/shop/views.py", "views.py"},
		{"cpython", "f", "<string>", "<string>"},
		{"cpython", "f", "", ""},
		{"jvm", "com.sun.net.httpserver.HttpServer.start", "HttpServer.java", "com.sun.net.httpserver"},
		{"jvm", "boolean java.util.concurrent.ThreadPoolExecutor.addWorker(java.lang.Runnable, boolean)", "",
			"java.util.concurrent"},
		{"jvm", "com.shop.Cart$$Lambda/0x000070001.run", "", "com.shop"},
		{"jvm", "java.lang.ref.Reference.<clinit>", "Reference.java", "java.lang.ref"},
		{"jvm", "App.work", "App.java", "App.java"},
		{"jvm", "com.shop.cart.total", "Cart.kt", "com.shop"},
		{"v8js", "handle", "/srv/node_modules/express/lib/router.js", "express"},
		{"v8js", "f", "/srv/node_modules/a/node_modules/@scope/name/x.js", "@scope/name"},
		{"v8js", "work", "/srv/app.js", "app.js"},
		{"v8js", "inspect", "node:internal/util/inspect", "inspect"},
		{"ruby", "call", "/var/lib/gems/3.1.0/gems/rack-2.2.3/lib/rack/handler.rb", "rack"},
		{"php", "handle", "/srv/vendor/symfony/http-kernel/Kernel.php", "symfony/http-kernel"},
	} {
		if got := managedModule(c.kind, c.function, c.file); got != c.want {
			t.Errorf("%s: %s of %q: %q, want %q", c.kind, c.function, c.file, got, c.want)
		}
	}
}

func FuzzModules(f *testing.F) {
	f.Add("jvm", "a.B.c(d)", "B.java")
	f.Add("cpython", "", "/lib/python3.1/")
	f.Add("v8js", "x", "/node_modules/@/")
	f.Fuzz(func(t *testing.T, kind, function, file string) {
		if !utf8.ValidString(function) || !utf8.ValidString(file) {
			t.Skip("what is shown was made printable")
		}
		if got := managedModule(kind, function, file); len(got) > len(function)+len(file) {
			t.Errorf("%q", got)
		}
	})
}
