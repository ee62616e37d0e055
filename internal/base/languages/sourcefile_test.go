// SPDX-License-Identifier: Apache-2.0

package languages

import "testing"

func TestASourceFileHasItsOwnNameAndItsPackage(t *testing.T) {
	for file, want := range map[string]string{
		"/usr/src/redis/ae.c": "ae.c",
		"ae.c":                "ae.c",
		"/srv/venv/lib/python3.12/site-packages/gunicorn/app/base.py": "gunicorn/app/base.py",
		"/usr/lib/python3/dist-packages/six.py":                       "six.py",
		"/usr/lib/python3.11/logging/__init__.py":                     "logging/__init__.py",
		"/opt/lib/python3.13t/logging/config.py":                      "logging/config.py",
		"/srv/shop/node_modules/find-my-way/index.js":                 "find-my-way/index.js",
		"/srv/node_modules/.pnpm/pg@8/node_modules/pg/lib/client.js":  "pg/lib/client.js",
		"/srv/shop/node_modules/@fastify/error/index.js":              "@fastify/error/index.js",
		"/srv/shop/index.js":                                          "index.js",
		"node:internal/child_process":                                 "node:internal/child_process",
		"node:events":                                                 "node:events",
		"/srv/shop/handlers.py":                                       "handlers.py",
		"/var/lib/gems/3.1.0/gems/puma-6.4.2/lib/puma/server.rb":      "puma/server.rb",
		"/usr/lib/ruby/vendor_ruby/rack/builder.rb":                   "rack/builder.rb",
		"/usr/lib/ruby/vendor_ruby/3.1.0/json.rb":                     "json.rb",
		"/usr/local/lib/ruby/3.3.0/net/http.rb":                       "net/http.rb",
		"/srv/shop/app/models/cart.rb":                                "cart.rb",
		"/usr/lib/ruby/gems/3.1.0/gems/puma-5.6.5/bin/server.rb":      "server.rb",
		"/srv/shop/__init__.py":                                       "shop/__init__.py",
		"/__main__.py":                                                "__main__.py",
		"__init__.py":                                                 "__init__.py",
		"<frozen importlib._bootstrap>":                               "<frozen importlib._bootstrap>",
		"/python3.12/":                                                "python3.12",
		"":                                                            ".",
	} {
		if got := SourceFile(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}
