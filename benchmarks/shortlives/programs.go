package main

// program is something whose processes or threads live shortly.
type program struct {
	name, what, language string
	waits                bool // it says that it is ready and waits for a line, as others do below a shell
	// args is the command; dir is a directory of its own.
	args func(dir string) []string
}

var programs = []program{
	{"shell", "a script of 100 pipelines of two commands", "", false, func(string) []string {
		return []string{"bash", "-c", "for i in $(seq 100); do ls -l /usr/bin | sort -k5 -n > /dev/null; done"}
	}},
	{"build", "`go build -a` of five packages", "", false, func(dir string) []string {
		return []string{"env", "GOFLAGS=", "GO111MODULE=off", "GOCACHE=" + dir + "/cache", "go", "build", "-a",
			"unicode", "unicode/utf8", "math/bits", "container/ring", "internal/cpu"}
	}},
	{"threads", "Python, a thread of 5 ms for each of 200 requests", "python", true, func(string) []string {
		return []string{"python3", "-c", pythonWork + `
for i in range(200):
    t = threading.Thread(target=request)
    t.start()
    t.join()
`}
	}},
	{"forks", "Python, a process of 5 ms for each of 200 requests", "python", true, func(string) []string {
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

const pythonWork = `
import os, threading, time
print("ready", flush=True)
input()
def request():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        sum(range(200))
`
