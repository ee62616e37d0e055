// SPDX-License-Identifier: Apache-2.0

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

type interpreter struct {
	name    string
	command []string
}

const releases = "/usr/local/lib/php-releases"

// interpreters returns the system's PHP, with the JIT compiler and without, and all of releases.
func interpreters(t *testing.T) (list []interpreter) {
	t.Helper()
	testtargets.Need(t, runtime.GOARCH == "amd64", "an x86-64 processor", "another machine")
	if php := os.Getenv("PRYWALK_PHP"); php != "" { // another build, alone
		return []interpreter{{filepath.Base(php), []string{php, "-n"}}}
	}
	system := testtargets.NeedProgram(t, "php")
	jit := func(mode string) []string {
		return []string{"-dopcache.enable_cli=1", "-dopcache.jit=" + mode, "-dopcache.jit_buffer_size=16M"}
	}
	list = append(list, interpreter{"system", []string{system, "-n"}},
		interpreter{"system-tracing", append([]string{system}, jit("tracing")...)},
		interpreter{"system-function", append([]string{system}, jit("function")...)})
	if !testtargets.All() { // one release
		return list[:2]
	}
	dirs, _ := filepath.Glob(releases + "/*/php")
	for _, php := range dirs {
		release := filepath.Base(filepath.Dir(php))
		list = append(list, interpreter{release, []string{php, "-n"}})
		with := []string{php, "-n"}
		if release < "8.5" { // then it is a part of PHP
			opcache := filepath.Join(filepath.Dir(php), "opcache.so")
			if _, err := os.Stat(opcache); err != nil || release < "8" {
				continue
			}
			with = append(with, "-dzend_extension="+opcache)
		}
		list = append(list, interpreter{release + "-tracing", append(with[:len(with):len(with)], jit("tracing")...)},
			interpreter{release + "-function", append(with[:len(with):len(with)], jit("function")...)})
	}
	return list
}

func (i interpreter) start(t *testing.T, script string, arguments ...string) int {
	t.Helper()
	return i.startPath(t, filepath.Join("testdata", script), arguments...)
}

func (i interpreter) startPath(t *testing.T, script string, arguments ...string) int {
	t.Helper()
	cmd := exec.Command(i.command[0], append(append(i.command[1:len(i.command):len(i.command)], script), arguments...)...)
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

// process keeps names from look to look: debug information is compressed.
type process struct {
	*loadedcode.Process
	names *symbols.Namer
}

func open(t *testing.T, pid int) process {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	names := symbols.NewNamer()
	t.Cleanup(func() { names.Close(); p.Close() })
	return process{p, names}
}

func sample(t *testing.T, p process, pid int) *stacks.Thread {
	t.Helper()
	d, err := dump.Sample(p.Process, dump.Options{MaxDepth: -1, Names: p.names})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Threads {
		if d.Threads[i].TID == pid {
			return &d.Threads[i]
		}
	}
	t.Fatalf("no main thread; not sampled: %v", d.Failed)
	return nil
}

func managedFrames(th *stacks.Thread) (list []*stacks.Frame) {
	for i := range th.Frames {
		if th.Frames[i].Kind == "php" {
			list = append(list, &th.Frames[i])
		}
	}
	return list
}
