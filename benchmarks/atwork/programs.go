// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"runtime"
	"strings"
)

type program struct {
	name, group string
	sources     []string
	build       [][]string
	run         []string
	debian      string
}

const (
	compiled     = "compiled"
	javaVM       = "Java"
	interpreters = "interpreters"
	generators   = "other code made at run time"
)

var groups = []string{compiled, javaVM, interpreters, generators}

const loopBegin = "while :; do "

func loop(command string) []string {
	return []string{"sh", "-c", loopBegin + command + " || exit; done"}
}

func encode(options string) []string {
	return strings.Fields("ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=1280x720:rate=30 " + options +
		" -f null -")
}

var hexFile = []string{"sh", "-c", "head -c 8000000 /dev/urandom | od -An -v -tx1 >data"}

const goBuild = `rm -rf cache && mkdir cache && GO111MODULE=off GOFLAGS= CGO_ENABLED=0 GOCACHE="$PWD/cache" go ` +
	`build -o built main.go`

const redis = `redis-server --port 0 --unixsocket "$PWD/s" --save "" >/dev/null & sleep 1; redis-benchmark -s ` +
	`"$PWD/s" -l -q -t get,set,lpush,lrange_300 >/dev/null`

// postgres runs as its package's user if started by root, which PostgreSQL refuses.
const postgres = `PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)"; as=; mkdir d; ` +
	`if [ "$(id -u)" -eq 0 ]; then chmod 711 .; chown postgres d; as="setpriv --reuid postgres --regid postgres ` +
	`--clear-groups"; fi; $as initdb -D d -A trust -U postgres --no-sync >/dev/null || exit; ` +
	`$as postgres -D d -h "" -k "$PWD/d" -c fsync=off -c jit_above_cost=0 -c jit_debugging_support=on >log 2>&1 & ` +
	`until psql -h "$PWD/d" -U postgres -qc "" 2>/dev/null; do kill -0 $! || exit; sleep 0.2; done; ` +
	loopBegin + `psql -h "$PWD/d" -U postgres -q -f work.pgsql >/dev/null || exit; done`

const mariadb = `PATH="$PATH:/usr/sbin"; as=; if [ "$(id -u)" -eq 0 ]; then chmod 711 .; as=--user=mysql; mkdir d; ` +
	`chown mysql d; fi; mariadb-install-db --no-defaults $as --datadir="$PWD/d" ` +
	`--auth-root-authentication-method=normal >log 2>&1 || exit; mariadbd --no-defaults $as --datadir="$PWD/d" ` +
	`--socket="$PWD/d/s" --skip-networking ` +
	`--innodb-flush-log-at-trx-commit=0 >>log 2>&1 & ` +
	`until mariadb -S "$PWD/d/s" -u root -e "select 1" >/dev/null 2>&1; do kill -0 $! || exit; sleep 0.2; done; ` +
	loopBegin + `mariadb -S "$PWD/d/s" -u root <work.marisql >/dev/null || exit; done`

const git = `git init -q r && cd r && git config user.name a && git config user.email a@b.c && for i in $(seq 60); ` +
	`do tail -c +$((i * 1000)) ../data | head -c 400000 >f$((i % 7)); git add . && git commit -qm $i; done; ` +
	loopBegin + `git repack -adfq --window=50 && git fsck --full 2>/dev/null && git log -p --stat >/dev/null || exit; done`

func programs() []program {
	list := []program{
		{"gcc", compiled, []string{bigSource}, nil, loop("gcc -O2 -c -o out.o " + bigSource), "gcc"},
		{"xz", compiled, nil, [][]string{hexFile}, loop("xz -6 -T1 -c data >/dev/null"), "xz-utils"},
		{"openssl", compiled, nil, nil,
			loop("openssl speed -seconds 1 sha256 aes-256-cbc rsa2048 ecdsap256 camellia-128-cbc md5 >/dev/null 2>&1"),
			"openssl"},
		{"gawk", compiled, []string{"work.awk"}, nil, []string{"gawk", "-f", "work.awk"}, "gawk"},
		{"sqlite", compiled, []string{"work.sql"}, nil, loop("sqlite3 :memory: <work.sql >/dev/null"), "sqlite3"},
		{"redis", compiled, nil, [][]string{{"redis-server", "--version"}, {"redis-benchmark", "--version"}},
			[]string{"sh", "-c", redis}, "redis-server redis-tools"},
		{"postgres", compiled, []string{"work.pgsql"}, [][]string{{"psql", "--version"}}, []string{"sh", "-c", postgres},
			"postgresql"},
		{"g++", compiled, []string{"templates.cc"}, nil, loop("g++ -std=c++17 -O2 -c -o out.o templates.cc"), "g++"},
		{"c++", compiled, []string{"work.cc"}, [][]string{{"g++", "-std=c++17", "-O2", "-o", "work", "work.cc"}},
			[]string{"./work"}, "g++"},
		{"rust", compiled, []string{"work.rs"}, [][]string{{"rustc", "--edition", "2021", "-O", "-o", "work", "work.rs"}},
			[]string{"./work"}, "rustc"},
		{"rustc", compiled, []string{"work.rs"}, [][]string{{"rustc", "--version"}},
			loop("rustc --edition 2021 -O -o built work.rs"), "rustc"},
		{"cmake", compiled, []string{"cmake/CMakeLists.txt", "templates.cc", "work.cc"}, [][]string{{"ninja", "--version"}},
			loop("cmake -G Ninja -S . -B b >/dev/null && ninja -C b >/dev/null && rm -r b"), "cmake ninja-build g++"},
		{"go-build", compiled, []string{"gowork/main.go"}, [][]string{{"go", "version"}}, loop(goBuild), "golang"},
		{"go", compiled, []string{"gowork/main.go"}, [][]string{{"env", "GO111MODULE=off", "GOFLAGS=", "go", "build", "-o",
			"work", "main.go"}}, []string{"./work"}, "golang"},
		{"x264", compiled, nil, nil, encode("-c:v libx264 -threads 2"), "ffmpeg"},
		{"x265", compiled, nil, nil, encode("-c:v libx265 -x265-params log-level=error:pools=2"), "ffmpeg"},
		{"vp9", compiled, nil, nil, encode("-c:v libvpx-vp9 -deadline good -cpu-used 2 -threads 1"), "ffmpeg"},
		{"fortran", compiled, []string{"work.f90"}, [][]string{{"gfortran", "-O2", "-o", "work", "work.f90"}},
			[]string{"./work"}, "gfortran"},
		{"ada", compiled, []string{"work.adb"}, [][]string{{"gnatmake", "-q", "-O2", "work.adb"}}, []string{"./work"},
			"gnat"},
		{"pascal", compiled, []string{"work.pas"}, [][]string{{"fpc", "-v0", "-O2", "work.pas"}}, []string{"./work"},
			"fp-compiler"},
		{"ocaml", compiled, []string{"work.ml"}, [][]string{{"ocamlopt", "-O3", "-o", "work", "work.ml"}}, []string{"./work"},
			"ocaml-nox"},
		{"clang", compiled, []string{"templates.cc"}, nil, loop("clang++ -std=c++17 -O2 -c -o out.o templates.cc"), "clang"},
		{"aom", compiled, nil, nil, encode("-c:v libaom-av1 -cpu-used 6 -threads 2"), "ffmpeg"},
		{"dav1d", compiled, nil, [][]string{strings.Fields("ffmpeg -nostdin -loglevel error -f lavfi -i " +
			"testsrc2=size=1280x720:rate=30 -t 4 -c:v libsvtav1 -preset 11 data.mkv")},
			loop("ffmpeg -nostdin -loglevel error -c:v libdav1d -i data.mkv -f null -"), "ffmpeg"},
		{"zstd", compiled, nil, [][]string{hexFile}, loop("zstd -q -T2 -12 -c data >/dev/null"), "zstd"},
		{"git", compiled, nil, [][]string{hexFile}, []string{"sh", "-c", git}, "git"},
		{"mariadb", compiled, []string{"work.marisql"}, nil, []string{"sh", "-c", mariadb}, "mariadb-server"},
		{"nim", compiled, []string{"work.nim"}, [][]string{{"nim", "c", "-d:release", "--hints:off", "--nimcache:.",
			"-o:work", "work.nim"}}, []string{"./work"}, "nim"},
		{"haskell", compiled, []string{"work.hs"}, [][]string{{"ghc", "-v0", "-O2", "-threaded", "-o", "work", "work.hs"}},
			[]string{"./work"}, "ghc"},
		{"openblas", compiled, []string{"blas.py"}, [][]string{{"/usr/bin/python3", "-c", "import numpy"}},
			[]string{"/usr/bin/python3", "blas.py"}, "python3-numpy libopenblas0-pthread"},
		{"gm", compiled, nil, [][]string{{"gm", "version"}}, loop("gm convert -size 900x600 plasma:fractal -blur 0x3 " +
			"-rotate 12 -resize 150% -colors 64 out.png"), "graphicsmagick"},
		{"z3", compiled, []string{"work.smt2"}, [][]string{{"z3", "--version"}}, loop("z3 work.smt2 >/dev/null"), "z3"},
		{"7z", compiled, nil, nil, loop("7z b -mmt2 >/dev/null"), "p7zip-full"},
		{"povray", compiled, []string{"work.pov"}, nil, loop("povray +Iwork.pov -D +WT2 +W640 +H480 +A0.1 +Oout.png " +
			"-GA >/dev/null 2>&1"), "povray"},
		{"crystal", compiled, []string{"work.cr"}, [][]string{{"crystal", "build", "--release", "-o", "work", "work.cr"}},
			[]string{"./work"}, "crystal"},
		{"ldc", compiled, []string{"work.d"}, [][]string{{"ldc2", "-O2", "-of=work", "work.d"}}, []string{"./work"}, "ldc"},
		{"gprolog", compiled, []string{"queens.pro"}, [][]string{{"gplc", "--no-top-level", "-o", "work", "queens.pro"}},
			[]string{"./work"}, "gprolog"},
		{"pdflatex", compiled, []string{"work.tex"}, [][]string{{"pdflatex", "-interaction=batchmode", "work.tex"}},
			loop("pdflatex -interaction=batchmode work.tex >/dev/null"), "texlive-latex-base"},
	}
	list = append(list, javas()...)
	return append(append(list, interpreted()...), generating()...)
}

func interpreted() []program {
	php := func(options ...string) []string { return append(append([]string{"php"}, options...), "work.php") }
	return []program{
		{"cpython", interpreters, []string{"work.py"}, nil, []string{"python3", "work.py"}, "python3"},
		{"ruby", interpreters, []string{"work.rb"}, nil, []string{"ruby", "work.rb"}, "ruby"},
		{"php", interpreters, []string{"work.php"}, nil, php("-d", "opcache.enable_cli=0"), "php-cli"},
		{"php-jit", interpreters, []string{"work.php"}, nil, php("-d", "opcache.enable_cli=1", "-d",
			"opcache.jit_buffer_size=64M", "-d", "opcache.jit=tracing"), "php-cli"},
		{"perl", interpreters, []string{"work.pl"}, nil, []string{"perl", "work.pl"}, "perl"},
		{"r", interpreters, []string{"work.R"}, nil, []string{"Rscript", "--vanilla", "work.R"}, "r-base-core"},
		{"node", interpreters, []string{"work.js"}, nil, []string{"node", "work.js"}, "nodejs"},
		{"lua", interpreters, []string{"work.lua"}, nil, []string{"lua5.4", "work.lua"}, "lua5.4"},
		{"octave", interpreters, []string{"work.m"}, nil, []string{"octave-cli", "--norc", "work.m"}, "octave"},
		{"swi-prolog", interpreters, []string{"work.plg"}, nil, []string{"swipl", "-q", "work.plg"}, "swi-prolog-nox"},
		{"gforth", interpreters, []string{"work.fs"}, nil, []string{"gforth", "work.fs"}, "gforth"},
		{"emacs", interpreters, []string{"work.el"}, nil, []string{"emacs", "--batch", "-Q", "-l", "./work.el"}, "emacs-nox"},
		{"vim", interpreters, []string{"work.vim"}, nil, []string{"vim", "-es", "-u", "NONE", "-n", "-S", "work.vim"},
			"vim"},
	}
}

func generating() []program {
	emulator := "qemu-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return []program{
		{"luajit", generators, []string{"work.lua"}, nil, []string{"luajit", "work.lua"}, "luajit"},
		{"qemu", generators, []string{"emulated.c"}, [][]string{{"gcc", "-O2", "-static", "-o", "work", "emulated.c"}},
			[]string{emulator, "./work"}, "qemu-user gcc"},
		{"mono", generators, []string{"work.cs"}, [][]string{{"mcs", "-optimize", "-out:work.exe", "work.cs"}},
			[]string{"mono", "work.exe"}, "mono-runtime mono-mcs"},
		{"guile", generators, []string{"work.scm"}, nil, []string{"guile", "--no-auto-compile", "work.scm"}, "guile-3.0"},
		{"sbcl", generators, []string{"work.lisp"}, nil, []string{"sbcl", "--script", "work.lisp"}, "sbcl"},
		{"chez", generators, []string{"work.scm"}, nil, []string{"chezscheme", "--script", "work.scm"}, "chezscheme"},
		{"racket", generators, []string{"work.rkt"}, nil, []string{"racket", "work.rkt"}, "racket"},
		{"pypy", generators, []string{"work.py"}, nil, []string{"pypy3", "work.py"}, "pypy3"},
		{"numba", generators, []string{"compiled.py"}, [][]string{{"/usr/bin/python3", "-c", "import numba"}},
			[]string{"/usr/bin/python3", "compiled.py"}, "python3-numba"},
		{"erlang", generators, []string{"work.erl"}, [][]string{{"erlc", "work.erl"}}, []string{"erl", "-noshell", "-run",
			"work", "main"}, "erlang-base"},
	}
}

var javaRuntimes = []string{"/usr/lib/jvm/*/bin/java", "/usr/local/lib/jvm/java-*/bin/java"}

func javas() []program {
	var list []program
	seen := map[string]bool{}
	for _, pattern := range javaRuntimes {
		found, _ := filepath.Glob(pattern)
		for _, java := range found {
			file, err := filepath.EvalSymlinks(java)
			if err != nil || seen[file] {
				continue
			}
			seen[file] = true
			name := strings.TrimSuffix(filepath.Base(strings.TrimSuffix(filepath.Dir(filepath.Dir(file)), "/jre")),
				"-"+runtime.GOARCH)
			for _, mode := range []struct{ name, option string }{{"", "-XX:+TieredCompilation"},
				{"-c1", "-XX:TieredStopAtLevel=1"}, {"-int", "-Xint"}} {
				list = append(list, program{name + mode.name, javaVM, []string{javaSource},
					[][]string{{"javac", "--release", "8", javaSource}},
					[]string{file, "-Xmx256m", mode.option, "-cp", ".", "Work", "36000"}, "default-jdk-headless"})
			}
		}
	}
	return list
}
