// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

const waitThreads, ringThreads = 16, 3

func TestJavaWaitsMatchTheProgramsOwnAccount(t *testing.T) {
	list := javas(t)
	dir, _ := compileJava(t, "Waits")
	for i, java := range list {
		for _, o := range testtargets.First(append(threadOptions[:1:1], threadOptions[(i+1)%len(threadOptions)])) {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(java)))+"/"+o.name, func(t *testing.T) {
				options := append([]string{"-Xmx128m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UnlockExperimentalVMOptions"},
					o.options...)
				p := startWaits(t, append(append([]string{java}, options...), "-cp", dir, "Waits", "deadlock"))
				whole := p.compareWaits(t)
				p.checkOwnDump(t)
				p.checkLocks(t, whole)
			})
		}
	}
}

type javaWait struct{ name, kind, class, owner string }

type waitsRun struct {
	cmd   *exec.Cmd
	waits map[int]javaWait
	code  *loadedcode.Process

	mu  sync.Mutex
	out bytes.Buffer
}

func startWaits(t *testing.T, argv []string) *waitsRun {
	t.Helper()
	p := &waitsRun{cmd: exec.Command(argv[0], argv[1:]...), waits: map[int]javaWait{}}
	_, lines := testtargets.Talk(t, p.cmd)
	hung := time.AfterFunc(dumpPatience, func() { _ = p.cmd.Process.Kill() })
	defer hung.Stop()
	s := bufio.NewScanner(lines)
	ready := false
	for (!ready || len(p.waits) < waitThreads) && s.Scan() {
		ready = ready || s.Text() == "ready"
		var tid int
		var w javaWait
		if n, _ := fmt.Sscanf(s.Text(), "thread %d %s %s %s %s", &tid, &w.name, &w.kind, &w.class, &w.owner); n == 5 {
			p.waits[tid] = w
		}
	}
	if len(p.waits) != waitThreads {
		t.Fatalf("the program reported the waits of %d threads, want %d: %v", len(p.waits), waitThreads, p.waits)
	}
	go func() {
		for s.Scan() {
			p.mu.Lock()
			p.out.WriteString(s.Text() + "\n")
			p.mu.Unlock()
		}
	}()
	var err error
	if p.code, err = loadedcode.Open(p.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.code.Close() })
	return p
}

var waitNames = map[waits.Kind]string{
	waits.Monitor: "monitor", waits.ObjectWait: "wait", waits.Park: "park", waits.Sleep: "sleep",
}

func (p *waitsRun) Thread(inner int, _ bool) (int, bool) { return inner, true }
func (p *waitsRun) Parent(int) int                       { return 0 }

func (p *waitsRun) waitOf(tid int) (w javaWait, ok bool) {
	var runs uint64
	f := procmem.OpenThread(p.code.PID, tid, nil)
	if now, err := f.SchedStat(); err == nil {
		runs = now.Runs
	}
	f.Close()
	live := &callstack.Live{ReadMemory: p.code.Read, PID: p.code.PID, TID: tid, RunCount: runs}
	got, ok, _ := callstack.WaitOf(p.code.Runtimes().FrameSources(), &managed.WaitQuery{InnerTID: tid, Live: live})
	if !ok {
		return w, false
	}
	got.ResolveOwner(p)
	w = javaWait{p.waits[tid].name, waitNames[got.Kind], got.Symbol, "-"}
	if got.Owner != 0 {
		w.owner = p.waits[got.Owner].name
	}
	if w.class == "" {
		w.class = "-"
	}
	return w, true
}

// A partial answer lacks the class or the owner: often while objects are moved, mostly with ZGC.
const answersEach = 20

// compareWaits returns the number of whole answers of each thread: none may be wrong.
func (p *waitsRun) compareWaits(t *testing.T) map[string]int {
	whole, reported, part := map[string]int{}, map[int]int{}, 0
	for end := time.Now().Add(dumpPatience); time.Now().Before(end); {
		if _, err := p.code.Refresh(); err != nil {
			t.Fatal(err)
		}
		done := true
		for tid, want := range p.waits {
			got, ok := p.waitOf(tid)
			switch {
			case got == want:
				whole[want.name]++
				reported[tid]++
			case !ok, reported[tid] == 0 && got.kind != want.kind:
			case got.kind == want.kind && (got.class == "-" || got.class == want.class) && (got.owner == "-" ||
				got.owner == want.owner):
				part++
				reported[tid]++
			default:
				t.Fatalf("thread %d waits for %+v, want %+v", tid, got, want)
			}
			done = done && reported[tid] >= answersEach
		}
		if done {
			break
		}
		time.Sleep(time.Millisecond) // another moment of the collector
	}
	for tid, want := range p.waits {
		if reported[tid] < answersEach {
			t.Errorf("thread %d: %d answers, want %d of %+v", tid, reported[tid], answersEach, want)
		}
	}
	t.Logf("%v whole answers, %d partial, none wrong", whole, part)
	return whole
}

const dumpPatience = 4 * time.Minute

func (p *waitsRun) checkOwnDump(t *testing.T) {
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	text := ""
	testtargets.Eventually(t, "the JVM has printed its deadlock", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		text = p.out.String()
		return strings.Contains(text, "\nFound 1 deadlock")
	})
	for tid, w := range p.waits {
		_, block, ok := strings.Cut(text, "\n\""+w.name+"\"")
		block, _, _ = strings.Cut(block, "\n\n")
		want := map[string]string{
			"monitor": "- waiting to lock <", "wait": "- waiting on <", "park": "(parking)", "sleep": "(sleeping)",
		}[w.kind]
		if w.class != "-" && !strings.Contains(block, "(a "+w.class+")") &&
			!strings.Contains(block, "<no object reference available>") {
			ok = false
		}
		if !ok || !strings.Contains(block, want) {
			t.Errorf("the JVM's dump of thread %d does not show that it waits for %+v:\n%s", tid, w, block)
		}
	}
	for i := range ringThreads {
		if name := fmt.Sprintf("which is held by \"ring%d\"", i); !strings.Contains(text, name) {
			t.Errorf("no %q in the JVM's dump", name)
		}
	}
}

// The deadlock is not checked if the owners of its monitors were seldom readable before.
func (p *waitsRun) checkLocks(t *testing.T, whole map[string]int) {
	for i := range ringThreads {
		if n := whole[fmt.Sprintf("ring%d", i)]; n < answersEach/2 {
			t.Logf("ring%d had only %d whole answers: the deadlock is not checked", i, n)
			return
		}
	}
	var l *locks.Locks
	// An owner may be unreadable while objects are moved.
	testtargets.Eventually(t, "the deadlock", func() bool {
		var err error
		if l, err = dump.ExamineLocks([]*loadedcode.Process{p.code}, dump.Options{MaxDepth: -1}); err != nil {
			t.Fatal(err)
		}
		return len(l.Deadlocks) > 0
	})
	if len(l.Deadlocks) != 1 || len(l.Deadlocks[0]) != ringThreads {
		t.Fatalf("deadlocks are %v, want one of %d threads", l.Deadlocks, ringThreads)
	}
	for i, tid := range l.Deadlocks[0] {
		next := l.Deadlocks[0][(i+1)%ringThreads]
		if p.waits[tid].owner != p.waits[next].name {
			t.Errorf("%s waits for %s in the deadlock, want %s", p.waits[tid].name, p.waits[next].name, p.waits[tid].owner)
		}
	}
	for i := range l.Locks {
		if m := &l.Locks[i]; m.Owner != 0 && m.OwnerThread != nil && m.OwnerThread.TID != m.Owner {
			t.Errorf("owner of %s is thread %d, but the owner's stack is that of %d", m.Object(), m.Owner, m.OwnerThread.TID)
		}
	}
	var b strings.Builder
	if err := text.WriteLocks(&b, l); err != nil {
		t.Fatal(err)
	}
	all := []string{"1 DEADLOCK", "in Waits.lambda$main$", "held by thread "}
	for _, want := range all {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
