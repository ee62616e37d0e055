// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
)

const hostInGo = `package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
static void call(const char *file, const char *function) {
	void *l = dlopen(file, RTLD_NOW);
	((void (*)(void))dlsym(l, function))();
}
*/
import "C"

import (
	"bytes"
	"os"
	"runtime"
	"time"
)

//go:noinline
func own(c chan int) { <-c }

func main() {
	file := C.CString(os.Args[1])
	C.call(file, C.CString("Begin"))
	c := make(chan int)
	for i := 0; i < 10; i++ {
		go own(c)
	}
	go C.call(file, C.CString("Stay"))
	all := make([]byte, 1<<20)
` + untilAllWait + `	os.Stdout.Write(append(all, "\nEND\n"...))
	time.Sleep(time.Hour)
}
`

func TestEachGoRuntimeOfAProcessShowsItsGoroutines(t *testing.T) {
	shared := []string{"-buildmode=c-shared"}
	one := testtargets.BuildGoAs(t, testtargets.GoLibrary, "one.so", shared...)
	two := testtargets.BuildGoAs(t, testtargets.GoLibrary, "two.so", append(shared, stripped...)...)
	inC, inGo := testtargets.BuildGoLibraryHost(t), testtargets.BuildGoAs(t, hostInGo, "host", "-trimpath")
	for name, c := range map[string]struct {
		command  []string
		runtimes []string
		callers  string
	}{
		"C loads two libraries": {[]string{inC, one, two}, []string{one, two}, "clone3"},
		"Go loads a library":    {[]string{inGo, two}, []string{two, inGo}, "runtime.goexit"},
		"C loads one library":   {[]string{inC, two}, []string{two}, "clone3"},
	} {
		if !testtargets.All() && name != "Go loads a library" {
			continue // cores of some GB
		}
		t.Run(name, func(t *testing.T) {
			cmd, out := startHost(t, c.command...)
			own := map[string]map[uint64]ownGoroutine{}
			for _, file := range c.runtimes {
				own[file] = ownGoroutines(t, out)
			}
			libraries := 0
			for _, file := range c.runtimes {
				if filepath.Ext(file) == ".so" {
					libraries++
				}
			}
			live := untilOnThreads(t, libraries, func() *stacks.Process { return sampleGoroutines(t, cmd.Process.Pid) })
			compareRuntimes(t, live, own, c.callers)
			inCore := untilOnThreads(t, libraries, func() *stacks.Process {
				file := gcore(t, cmd.Process.Pid)
				defer os.Truncate(file, 0) // of some GB, and open until the test ends
				return Core(openCore(t, file, ""), Options{MaxDepth: -1, Goroutines: true})
			})
			compareRuntimes(t, inCore, own, c.callers)
		})
	}
}

// A preempted goroutine is on no thread, and goroutines change threads.
func untilOnThreads(t *testing.T, libraries int, dump func() *stacks.Process) (p *stacks.Process) {
	t.Helper()
	testtargets.Eventually(t, "each busy goroutine is on a thread, each other one waits", func() bool {
		if p != nil {
			p.Close()
		}
		p = dump()
		return staying(p) == libraries && moving(p) == 0
	})
	return p
}

func startHost(t *testing.T, command ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd, out := startGo(t, command...)
	return cmd, bufferedOnce(out)
}

// A scanner with this reader takes no more than it returns.
func bufferedOnce(r io.Reader) io.Reader { return &slowReader{r} }

type slowReader struct{ r io.Reader }

func (s *slowReader) Read(b []byte) (int, error) { return s.r.Read(b[:1]) }

func has(g *stacks.Goroutine, function string) bool {
	return slices.ContainsFunc(g.Frames, func(f stacks.Frame) bool { return f.Function == function })
}

func staying(p *stacks.Process) (n int) {
	for i := range p.GoroutineStacks {
		if g := &p.GoroutineStacks[i]; g.Wait == "sleep" && has(g, "main.Stay") {
			n++
		}
	}
	return n
}

// A goroutine that began to run meanwhile has no frames; nor has, in a system call, that of a C thread which has
// returned from Go (runtime.dropm).
func moving(p *stacks.Process) (n int) {
	for i := range p.GoroutineStacks {
		g := &p.GoroutineStacks[i]
		if g.Thread == 0 && (has(g, "main.compute") || len(g.Frames) == 0 && g.Status != "syscall") {
			n++
		}
	}
	return n
}

func compareRuntimes(t *testing.T, p *stacks.Process, own map[string]map[uint64]ownGoroutine, callers string) {
	t.Helper()
	count := map[string]int{}
	for i := range p.GoroutineStacks {
		g := &p.GoroutineStacks[i]
		file := g.Runtime
		if len(own) == 1 && file == "" {
			for file = range own {
			}
		}
		if g.System {
			continue
		}
		switch o, known := own[file][g.ID]; {
		case has(g, "main.compute"):
			if g.Thread == 0 || !g.Complete {
				t.Errorf("the busy goroutine %d of %q is on thread %d: %q", g.ID, file, g.Thread, shown(g.Frames))
			}
			for j := range p.Threads {
				if th := &p.Threads[j]; th.TID == g.Thread && (th.Goroutine != g.ID || th.GoroutineRuntime != g.Runtime) {
					t.Errorf("thread %d has goroutine %d of %q", th.TID, th.Goroutine, th.GoroutineRuntime)
				}
			}
			count["busy"]++
		case has(g, "main.Stay"):
			if last := g.Frames[len(g.Frames)-1].Function; !g.Complete || last != callers || !has(g, "crosscall2") {
				t.Errorf("the goroutine in Stay ends in %s: %q", g.StopReason, shown(g.Frames))
			}
			count["Stay"]++
		case has(g, "main._Cfunc_call"):
			if !g.Complete || len(shown(g.Frames)) != 2 || g.Status != "syscall" {
				t.Errorf("the goroutine that calls the library: %s, %q", g.StopReason, shown(g.Frames))
			}
			count["call"]++
		case has(g, "main.main"):
		case !known || g.Wait != o.wait || g.CreatedBy != o.createdBy || g.Parent != o.parent || !g.Complete ||
			!sameFrames(g.Frames, o.frames):
			t.Errorf("goroutine %d of %q: %s, %s, by %s in %d: %q\nit says %+v", g.ID, file, g.Wait, g.StopReason,
				g.CreatedBy, g.Parent, shown(g.Frames), o)
		default:
			count[filepath.Base(file)+" "+g.Wait]++
		}
	}
	libraries, want := 0, map[string]int{}
	for file := range own {
		if name := filepath.Base(file); strings.HasSuffix(name, ".so") {
			want[name+" chan receive"], want[name+" sync.Mutex.Lock"] = 20, 20
			libraries++
		} else {
			want[name+" chan receive"], want["call"] = 10, 1
		}
	}
	want["busy"], want["Stay"] = libraries, libraries
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("goroutines %v, not %v", count, want)
	}
	for name, write := range map[string]func(io.Writer, *stacks.Process) error{
		"text": text.Write, "JSON": stacks.WriteJSON,
	} {
		var b bytes.Buffer
		if err := write(&b, p); err != nil {
			t.Fatal(err)
		}
		for file := range own {
			part := "20 goroutines of " + file + ": waiting (chan receive)"
			if filepath.Ext(file) == "" {
				part = "10 goroutines of " + file + ": waiting (chan receive)"
			}
			if name == "JSON" {
				quoted, _ := json.Marshal(file)
				part = `"runtime":` + string(quoted)
			}
			if there := strings.Contains(b.String(), part); there != (len(own) > 1) {
				t.Errorf("%s: %q is there: %v", name, part, there)
			}
		}
	}
}

const goPlugin = `package main

import "time"

//go:noinline
func inPlugin(c chan int) { <-c }

func Start() {
	c := make(chan int)
	for i := 0; i < 10; i++ {
		go inPlugin(c)
	}
}

func Block() { time.Sleep(time.Hour) }

func main() {}
`

const pluginHost = `package main

import (
	"bytes"
	"os"
	"plugin"
	"runtime"
	"time"
)

//go:noinline
func inProgram(c chan int) { <-c }

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"Start", "Block"} {
		f, err := p.Lookup(name)
		if err != nil {
			panic(err)
		}
		go f.(func())()
	}
	c := make(chan int)
	for i := 0; i < 10; i++ {
		go inProgram(c)
	}
	all := make([]byte, 1<<20)
` + untilAllWait + `	os.Stdout.Write(append(all, "\nEND\n"...))
	time.Sleep(time.Hour)
}
`

func TestGoroutinesOfAPluginBelongToItsProgram(t *testing.T) {
	for name, args := range map[string][]string{"stripped": stripped, "symbols": nil} {
		if !testtargets.All() && name == "symbols" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			plug := testtargets.BuildGoAs(t, goPlugin, "plug", append([]string{"-buildmode=plugin"}, args...)...)
			cmd, out := startHost(t, testtargets.BuildGoAs(t, pluginHost, "host", args...), plug)
			own := ownGoroutines(t, out)
			p := sampleAsleep(t, cmd.Process.Pid)
			count := map[string]int{}
			for i := range p.GoroutineStacks {
				g := &p.GoroutineStacks[i]
				if g.System || g.ID == 1 {
					continue
				}
				o, known := own[g.ID]
				if !known || g.Runtime != "" || g.Wait != o.wait || g.CreatedBy != o.createdBy || !g.Complete ||
					!sameFrames(g.Frames, o.frames) {
					t.Errorf("goroutine %d of %q: %s, %s, by %s: %q\nit says %+v", g.ID, g.Runtime, g.Wait, g.StopReason,
						g.CreatedBy, shown(g.Frames), o)
				}
				for _, function := range []string{"plug.inPlugin", "plug.Block", "main.inProgram"} {
					if has(g, function) {
						count[function]++
					}
				}
			}
			if want := "map[main.inProgram:10 plug.Block:1 plug.inPlugin:10]"; fmt.Sprint(count) != want {
				t.Errorf("%v, not %v", count, want)
			}
		})
	}
}
