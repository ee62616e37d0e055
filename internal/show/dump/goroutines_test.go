// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
)

const knownGoroutines = `package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var (
	mu   sync.Mutex
	rw   sync.RWMutex
	cond = sync.NewCond(new(sync.Mutex))
	wg   sync.WaitGroup
)

func send(c chan int)    { c <- 1 }
func receive(c chan int) { <-c }
func lock()              { mu.Lock() }
func rlock()             { rw.RLock() }
func sleep()             { time.Sleep(time.Hour) }
func never()             { select {} }

func choose(a, b chan int) {
	select {
	case <-a:
	case b <- 1:
	}
}

func wait() {
	cond.L.Lock()
	cond.Wait()
}

func deep(n int, c chan int) {
	if n > 0 {
		deep(n-1, c)
		return
	}
	receive(c)
}

func deferred(c chan int) {
	defer func() { receive(c) }()
}

func main() {
	mu.Lock()
	rw.Lock()
	wg.Add(1)
	full, empty := make(chan int), make(chan int)
	for i := 0; i < 1000; i++ {
		go send(full)
		go receive(empty)
		go choose(make(chan int), make(chan int))
		go lock()
		go rlock()
		go sleep()
		go never()
		go wait()
		go wg.Wait()
		go deep(i%40, empty)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go l.Accept()
	go deferred(empty)
	go func() {
		runtime.LockOSThread()
		receive(empty)
	}()
	labels := pprof.Labels("request", "42", "user", "jo")
	go pprof.Do(context.Background(), labels, func(context.Context) { receive(empty) })
	all := make([]byte, 64<<20)
` + untilAllWait + `	runtime.GC()
	runtime.GC()
	all = all[:runtime.Stack(all[:cap(all)], true)]
	os.Stdout.Write(append(all, "\nEND\n"...))
	sleep()
}
`

// untilAllWait is Go code that reads all goroutines' stacks into all, until all others wait.
const untilAllWait = `	for { // until each goroutine waits
		all = all[:runtime.Stack(all[:cap(all)], true)]
		if !bytes.Contains(all, []byte(" [runnable")) && bytes.Count(all, []byte(" [running")) == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
`

type ownGoroutine struct {
	wait, createdBy string
	parent          uint64
	frames          []string
}

var (
	ownHeading = regexp.MustCompile(`^goroutine (\d+).* \[([^,\]]+)[^\]]*\].*:$`)
	ownCreated = regexp.MustCompile(`^created by (\S+)(?: in goroutine (\d+))?$`)
	ownPlace   = regexp.MustCompile(`^\t.*/([^/]+:\d+)`)
)

func ownGoroutines(t *testing.T, r io.Reader) map[uint64]ownGoroutine {
	t.Helper()
	out := map[uint64]ownGoroutine{}
	id, g, function := uint64(0), ownGoroutine{}, ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if line == "END" {
			return out
		}
		if m := ownHeading.FindStringSubmatch(line); m != nil {
			id, _ = strconv.ParseUint(m[1], 10, 64)
			g, function = ownGoroutine{wait: m[2]}, ""
		} else if m := ownCreated.FindStringSubmatch(line); m != nil {
			g.createdBy, function = m[1], ""
			g.parent, _ = strconv.ParseUint(m[2], 10, 64)
		} else if m := ownPlace.FindStringSubmatch(line); m != nil && function != "" {
			g.frames = append(g.frames, function+" "+m[1])
		} else if i := strings.LastIndexByte(line, '('); i > 0 && line[0] != '\t' {
			function = line[:i]
		}
		out[id] = g
	}
	t.Fatalf("the program ended, or does not say END: %v", lines.Err())
	return nil
}

// runtime.Stack leaves out most of these.
var internalFrame = regexp.MustCompile(`^runtime\.[a-z]`)

// runtime.Stack leaves out the compiler's function for a go statement with arguments.
var goWrapper = regexp.MustCompile(`^\w+\.\w+(\.(gowrap|func)|·dwrap·)\d+ `)

func shown(list []stacks.Frame) (out []string) {
	for i := range list {
		f := &list[i]
		if !internalFrame.MatchString(f.Function) {
			out = append(out, fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line))
		}
	}
	return out
}

func sameFrames(list []stacks.Frame, own []string) bool {
	own = slices.DeleteFunc(slices.Clone(own), internalFrame.MatchString)
	ours := shown(list)
	if n := len(ours); n == len(own)+1 && goWrapper.MatchString(ours[n-1]) {
		ours = ours[:n-1]
	}
	return slices.Equal(ours, own)
}

func startGoroutines(t *testing.T, text, release string, args ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	return startGo(t, buildGo(t, text, release, args...))
}

// startGo starts a program that is ended at the test's end. Its output is read within Patience.
func startGo(t *testing.T, command ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "GOGC=off") // no thread wakes to collect, or to return memory
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if err := out.(*os.File).SetReadDeadline(time.Now().Add(testtargets.Patience)); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func sampleGoroutines(t *testing.T, pid int) *stacks.Process {
	t.Helper()
	c, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := Sample(c, Options{MaxDepth: -1, Goroutines: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close) // all stacks have one budget
	return p
}

// sampleAsleep samples once the program sleeps: its first goroutine may still write, and a thread look for goroutines.
// Nothing wakes it then but the sample, which may have to stop a thread.
func sampleAsleep(t *testing.T, pid int) *stacks.Process {
	t.Helper()
	testtargets.Still(t, pid, func() {})
	return sampleGoroutines(t, pid)
}

// goReleases returns "", which is the release of the tests, and in make test-all older and later ones.
func goReleases(t *testing.T, older ...string) []string {
	t.Helper()
	return testtargets.First(slices.Concat([]string{""}, older, testtargets.LaterGoReleases(t)))
}

func TestGoroutinesAreThoseThatTheProgramKnows(t *testing.T) {
	type program struct {
		name, release string
		args          []string
	}
	programs := []program{{"symbols", "", nil}, {"stripped", "", stripped},
		{"stripped pie", "", append([]string{"-buildmode=pie"}, stripped...)}}
	for _, r := range goReleases(t, testtargets.GoReleases(t)...)[1:] {
		programs = append(programs, program{r + " stripped", r, stripped})
	}
	if !testtargets.All() {
		programs = programs[1:2]
	}
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			cmd, out := startGoroutines(t, knownGoroutines, c.release, c.args...)
			own := ownGoroutines(t, out)
			if len(own) != 10005 {
				t.Fatalf("the program has %d goroutines", len(own))
			}
			p := sampleAsleep(t, cmd.Process.Pid)
			compareGoroutines(t, p, own, c.release == "" || c.release >= "1.21")
			if c.name != "stripped" {
				return
			}
			p = Core(openCore(t, gcore(t, cmd.Process.Pid), ""), Options{MaxDepth: -1, Goroutines: true})
			compareGoroutines(t, p, own, true)
		})
	}
}

func compareGoroutines(t *testing.T, p *stacks.Process, own map[uint64]ownGoroutine, current bool) {
	t.Helper()
	seen, wrong := 0, 0
	labelled := map[uint64]map[string]string{}
	for i := range p.GoroutineStacks {
		g := &p.GoroutineStacks[i]
		if g.System {
			continue
		}
		seen++
		o, known := own[g.ID]
		if g.ID == 1 {
			if wait := g.Wait; wait != "sleep" || !known {
				t.Errorf("main waits for %q", wait)
			}
			continue
		}
		if g.Labels != nil {
			labelled[g.ID] = g.Labels
		}
		if !known || g.Wait != o.wait || g.CreatedBy != o.createdBy || !sameFrames(g.Frames, o.frames) ||
			!g.Complete || current && g.Parent != o.parent || !current && g.Parent != 0 && g.Parent != o.parent {
			if wrong++; wrong < 4 {
				t.Errorf("goroutine %d %s (%s), created by %s in %d, %s:\n%q\nit says %+v", g.ID, g.Status, g.Wait, g.CreatedBy,
					g.Parent, g.StopReason, shown(g.Frames), o)
			}
		}
	}
	if seen != len(own) || wrong > 0 {
		t.Errorf("%d goroutines of %d, %d wrong", seen, len(own), wrong)
	}
	values := slices.Collect(maps.Values(labelled))
	if want := (map[string]string{"request": "42", "user": "jo"}); len(values) != 1 || !maps.Equal(values[0], want) {
		t.Errorf("labels %q, not %q", values, want)
	}
}

func TestGoroutinesWithEqualStacksAreTogether(t *testing.T) {
	cmd, out := startGoroutines(t, knownGoroutines, "")
	ownGoroutines(t, out)
	p := sampleAsleep(t, cmd.Process.Pid)
	for name, write := range map[string]func(io.Writer, *stacks.Process) error{
		"text": text.Write, "merged": text.WriteMerged,
	} {
		var b bytes.Buffer
		if err := write(&b, p); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if head, _, _ := strings.Cut(text, "\n"); !strings.HasSuffix(head, ", 10,005 goroutines") {
			t.Errorf("%s: %s", name, head)
		}
		last := 0
		for _, part := range []string{"\n  labels: request=42, user=jo\n", "\n25 goroutines: waiting (chan receive)",
			"\n1,000 goroutines: waiting (chan send)", "\nnot shown: "} {
			at := strings.Index(text, part)
			if at < last {
				t.Errorf("%s: %q is at %d, what is before it at %d", name, part, at, last)
			}
			last = at
		}
		idle := "\nwithout a goroutine, asleep in Go's scheduler: thread"
		if !strings.Contains(text, idle) || strings.Contains(text, "runtime.findRunnable") {
			t.Errorf("%s: threads of the scheduler are shown", name)
			for i := range p.Threads {
				th := &p.Threads[i]
				t.Logf("thread %d, %s by %s, %s, goroutine %d: %s", th.TID, th.State, th.How, th.StopReason, th.Goroutine,
					names(th))
			}
		}
		if strings.Contains(text, "are not shown") {
			t.Errorf("%s: goroutines are called not shown", name)
		}
	}
	var b bytes.Buffer
	if err := stacks.WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	var got stacks.Process
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.GoroutineStacks) != len(p.GoroutineStacks) || len(got.Threads) != len(p.Threads) {
		t.Errorf("%d goroutines and %d threads in JSON, not %d and %d", len(got.GoroutineStacks), len(got.Threads),
			len(p.GoroutineStacks), len(p.Threads))
	}
}

const busyGoroutines = `package main

func f0(n int, c chan int) { turn(c); f1(n, c); turn(c) }
func f1(n int, c chan int) { turn(c); f2(n, c); turn(c) }
func f2(n int, c chan int) { turn(c); f3(n, c); turn(c) }
func f3(n int, c chan int) {
	turn(c)
	if n > 0 {
		f0(n-1, c)
	}
	turn(c)
}

func turn(c chan int) {
	select {
	case c <- 1:
	case <-c:
	}
}

func main() {
	c := make(chan int)
	for i := 0; i < 64; i++ {
		go func(n int) {
			for {
				f0(n, c)
			}
		}(i % 8)
	}
	println("started")
	select {}
}
`

func TestStacksOfBusyGoroutinesAreTrueChains(t *testing.T) {
	cmd, _ := startGoroutines(t, busyGoroutines, "", "-gcflags=-l")
	before := map[string]string{"main.f1": "main.f0", "main.f2": "main.f1", "main.f3": "main.f2"}
	stacks, wrong, changed := 0, 0, 0
	enough := 500
	if testtargets.All() {
		enough = 5000
	}
	for end := time.Now().Add(testtargets.Patience); stacks < enough && wrong == 0 && time.Now().Before(end); {
		p := sampleGoroutines(t, cmd.Process.Pid)
		p.Close()
		for _, g := range p.GoroutineStacks {
			if g.System || g.Thread != 0 || g.ID == 1 {
				continue
			}
			if len(g.Frames) == 0 {
				changed++
				continue
			}
			stacks++
			list := shown(g.Frames)
			for i := range list {
				name, _, _ := strings.Cut(list[i], " ")
				caller := ""
				if i+1 < len(list) {
					caller, _, _ = strings.Cut(list[i+1], " ")
				}
				first := strings.HasPrefix(caller, "main.main.func")
				ok := name == "main.turn" && i == 0 || before[name] != "" && before[name] == caller ||
					name == "main.f0" && (caller == "main.f3" || first) ||
					strings.HasPrefix(name, "main.main.func") && strings.HasPrefix(caller, "main.main.gowrap") ||
					strings.HasPrefix(name, "main.main.gowrap") && caller == ""
				if !ok || !g.Complete {
					wrong++
					t.Errorf("%s: %q", g.StopReason, list)
					break
				}
			}
		}
	}
	t.Logf("%d stacks, %d wrong, %d ran while being read", stacks, wrong, changed)
	if stacks < enough && wrong == 0 {
		t.Errorf("%d stacks in %v", stacks, testtargets.Patience)
	}
}
