package main

// program is something whose processes or threads live shortly.
type program struct {
	name, what, language string
	waits                bool // it says that it is ready and waits for a line, as others do below a shell
	source               bool // it builds a C program's source
	// prepare is a shell's command before each run, outside of what is measured; nil: none.
	prepare func(b *bench) string
	// args is the command; dir is a directory of its own.
	args func(dir string) []string
}

var programs = []program{
	{name: "shell", what: "a script of 100 pipelines of two commands", args: func(string) []string {
		return []string{"bash", "-c", "for i in $(seq 100); do ls -l /usr/bin | sort -k5 -n > /dev/null; done"}
	}},
	{name: "build", what: "`go build -a` of five packages", args: func(dir string) []string {
		return []string{"env", "GOFLAGS=", "GO111MODULE=off", "GOCACHE=" + dir + "/cache", "go", "build", "-a",
			"unicode", "unicode/utf8", "math/bits", "container/ring", "internal/cpu"}
	}},
	{name: "make", what: "`make -j2` of a C program", source: true, prepare: configured, args: func(dir string) []string {
		return []string{"make", "-s", "-j2", "-C", dir + "/source"}
	}},
	{name: "configure", what: "`./configure` of it", source: true, prepare: unpacked, args: func(dir string) []string {
		return []string{"sh", "-c", "cd " + dir + "/source && exec ./configure"}
	}},
	{name: "pgbench", what: "`pgbench -C`, 400 connections", prepare: database, args: func(dir string) []string {
		return []string{"sh", "-c", connections, "shortlives", dir}
	}},
	{name: "threads", what: "Python, a thread of 5 ms for each of 200 requests", language: "python", waits: true,
		args: func(string) []string {
			return []string{"python3", "-c", pythonWork + `
for i in range(200):
    t = threading.Thread(target=request)
    t.start()
    t.join()
`}
		}},
	{name: "forks", what: "Python, a process of 5 ms for each of 200 requests", language: "python", waits: true,
		args: func(string) []string {
			return []string{"python3", "-c", pythonWork + `
for i in range(200):
    pid = os.fork()
    if pid == 0:
        request()
        os._exit(0)
    os.waitpid(pid, 0)
`}
		}},
}

// unpacked is the source as it is delivered, and configured is it after its configure script.
func unpacked(b *bench) string {
	return "rm -rf '" + b.dir + "/source' && cp -Rp '" + b.source + "' '" + b.dir + "/source'"
}

func configured(b *bench) string {
	return unpacked(b) + " && cd '" + b.dir + "/source' && ./configure >/dev/null"
}

// database makes a database. PostgreSQL refuses to run as root: then it runs as the user of its package.
func database(b *bench) string {
	return "cd '" + b.dir + "' || exit; " + postgresUser + `rm -rf data; mkdir data; [ -z "$as" ] || ` +
		`{ chmod 711 .; chown postgres data; }; $as initdb -D data -A trust -U postgres --no-sync && ` + serve +
		`$as pgbench -h "$PWD/data" -U postgres -i -q postgres && kill -INT $!; wait $!`
}

// connections serves a client that connects for each transaction, and ends the server.
const connections = `cd "$1" || exit; ` + postgresUser + serve +
	`$as pgbench -h "$PWD/data" -U postgres -C -S -n -c 2 -t 200 postgres && kill -INT $!; wait $!`

const (
	// postgresUser has as: what a command of PostgreSQL begins with.
	postgresUser = `PATH="$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH"; as=; if [ "$(id -u)" -eq 0 ]; then ` +
		`as="setpriv --reuid postgres --regid postgres --clear-groups"; fi; `
	// serve starts the server, and waits until it answers.
	serve = `$as postgres -D data -h "" -k "$PWD/data" -c fsync=off >data/log 2>&1 & ` +
		`until $as psql -h "$PWD/data" -U postgres -qc "" 2>/dev/null; do kill -0 $! || exit; sleep 0.2; done; `
)

const pythonWork = `
import os, threading, time
print("ready", flush=True)
input()
def request():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        sum(range(200))
`
