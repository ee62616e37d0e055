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

	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/dump"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/waits"
)

// waitThreads is how many threads of Waits.java tell what they wait for, ringThreads how many of them are in a
// deadlock.
const waitThreads, ringThreads = 16, 3

// TestJavaThreadsWaitForWhatTheProgramSays compares what threads wait for while objects are moved with the program's
// own account and the machine's dump of its threads. Each release runs with its default collector and one of the
// others.
func TestJavaThreadsWaitForWhatTheProgramSays(t *testing.T) {
	list := javas(t)
	dir, _ := compileJava(t, "Waits")
	for i, java := range list {
		for _, o := range append(threadOptions[(i+1)%len(threadOptions):][:1:1], threadOptions[0]) {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(java)))+"/"+o.name, func(t *testing.T) {
				options := append([]string{"-Xmx128m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UnlockExperimentalVMOptions"},
					o.options...)
				p := startWaits(t, append(append([]string{java}, options...), "-cp", dir, "Waits", "deadlock"))
				whole := p.ask(t)
				p.dump(t)
				p.locks(t, whole)
			})
		}
	}
}

type saidWait struct{ name, kind, class, owner string }

type waitsRun struct {
	cmd  *exec.Cmd
	said map[int]saidWait
	code *code.Process

	mu  sync.Mutex
	out bytes.Buffer // what it writes when all threads have told
}

func startWaits(t *testing.T, argv []string) *waitsRun {
	t.Helper()
	p := &waitsRun{cmd: exec.Command(argv[0], argv[1:]...), said: map[int]saidWait{}}
	_, says := testtargets.Talk(t, p.cmd)
	s := bufio.NewScanner(says)
	ready := false
	for (!ready || len(p.said) < waitThreads) && s.Scan() {
		ready = ready || s.Text() == "ready"
		var tid int
		var w saidWait
		if n, _ := fmt.Sscanf(s.Text(), "thread %d %s %s %s %s", &tid, &w.name, &w.kind, &w.class, &w.owner); n == 5 {
			p.said[tid] = w
		}
	}
	if len(p.said) != waitThreads {
		t.Fatalf("the program told %d threads: %v", len(p.said), p.said)
	}
	go func() {
		for s.Scan() {
			p.mu.Lock()
			p.out.WriteString(s.Text() + "\n")
			p.mu.Unlock()
		}
	}()
	var err error
	if p.code, err = code.Open(p.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.code.Close() })
	return p
}

var waitNames = map[waits.Kind]string{
	waits.Monitor: "monitor", waits.ObjectWait: "wait", waits.Park: "park", waits.Sleep: "sleep",
}

// Thread implements [waits.Threads].
func (p *waitsRun) Thread(inner int, _ bool) (int, bool) { return inner, true }

func (p *waitsRun) one(tid int) (w saidWait, ok bool) {
	var runs uint64
	f := procmem.OpenThread(p.code.PID, tid, nil)
	if now, err := f.SchedStat(); err == nil {
		runs = now.Runs
	}
	f.Close()
	live := &callstack.Live{Mem: p.code.Read, PID: p.code.PID, TID: tid, Runs: runs}
	got, ok, _ := callstack.Waiting(p.code.Runtimes().Namers(), &managed.Sleeper{TID: tid, Live: live})
	if !ok {
		return w, false
	}
	got.Resolve(p)
	w = saidWait{p.said[tid].name, waitNames[got.Kind], got.Symbol, "-"}
	if got.Owner != 0 {
		w.owner = p.said[got.Owner].name
	}
	if w.class == "" {
		w.class = "-"
	}
	return w, true
}

// Per thread: answers wanted, and most queries. An answer in part lacks the class or the owner, as where objects are
// just being moved, and mostly with ZGC, whose references are often stale.
const answersEach, mostAsked = 20, 10000

// ask compares the answers with what the program says: what is told must be right, and all must be told. It gives how
// many whole answers each thread has had.
func (p *waitsRun) ask(t *testing.T) map[string]int {
	whole, reported, part := map[string]int{}, map[int]int{}, 0
	for range mostAsked {
		if _, err := p.code.Refresh(); err != nil {
			t.Fatal(err)
		}
		done := true
		for tid, want := range p.said {
			got, ok := p.one(tid)
			switch {
			case got == want:
				whole[want.name]++
				reported[tid]++
			case !ok, reported[tid] == 0 && got.kind != want.kind: // it has told what it is going to wait for
			case got.kind == want.kind && (got.class == "-" || got.class == want.class) && (got.owner == "-" ||
				got.owner == want.owner):
				part++
				reported[tid]++
			default:
				t.Fatalf("thread %d: %+v, want %+v", tid, got, want)
			}
			done = done && reported[tid] >= answersEach
		}
		if done {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for tid, want := range p.said {
		if reported[tid] < answersEach {
			t.Errorf("thread %d has had %d answers: want %+v", tid, reported[tid], want)
		}
	}
	t.Logf("%v whole answers, %d in part, no wrong one", whole, part)
	return whole
}

// dumpPatience bounds how long the machine's own dump is waited for. How soon it comes is up to who else runs.
const dumpPatience = 4 * time.Minute

func (p *waitsRun) dump(t *testing.T) {
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	text := ""
	for end := time.Now().Add(dumpPatience); time.Now().Before(end) && !strings.Contains(text, "\nFound 1 deadlock"); {
		time.Sleep(5 * time.Millisecond)
		p.mu.Lock()
		text = p.out.String()
		p.mu.Unlock()
	}
	for tid, w := range p.said {
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
			t.Errorf("the machine does not say of thread %d that it waits for %+v:\n%s", tid, w, block)
		}
	}
	for i := range ringThreads { // "which is held by", in the deadlock that it reports
		if name := fmt.Sprintf("which is held by \"ring%d\"", i); !strings.Contains(text, name) {
			t.Errorf("the machine does not say %s", name)
		}
	}
}

// locks looks for the deadlock, if the owners of its monitors were told each now and then.
func (p *waitsRun) locks(t *testing.T, whole map[string]int) {
	for i := range ringThreads {
		if n := whole[fmt.Sprintf("ring%d", i)]; n < answersEach/2 {
			t.Logf("ring%d had %d whole answers: no deadlock is looked for", i, n)
			return
		}
	}
	var l *dump.Locks
	for range 5 { // while objects are moved all the time, an owner may not be told
		var err error
		if l, err = dump.ExamineLocks([]*code.Process{p.code}, dump.Options{MaxDepth: -1}); err != nil {
			t.Fatal(err)
		}
		if len(l.Deadlocks) > 0 {
			break
		}
	}
	if len(l.Deadlocks) != 1 || len(l.Deadlocks[0]) != ringThreads {
		t.Fatalf("deadlocks: %v", l.Deadlocks)
	}
	for i, tid := range l.Deadlocks[0] {
		next := l.Deadlocks[0][(i+1)%ringThreads]
		if p.said[tid].owner != p.said[next].name {
			t.Errorf("%s waits for %s", p.said[tid].name, p.said[next].name)
		}
	}
	for i := range l.Locks {
		if m := &l.Locks[i]; m.Owner != 0 && m.OwnerThread != nil && m.OwnerThread.TID != m.Owner {
			t.Errorf("%s is held by %d, and the stack is that of %d", m.Thing(), m.Owner, m.OwnerThread.TID)
		}
	}
	var b strings.Builder
	if err := dump.LocksText(&b, l); err != nil {
		t.Fatal(err)
	}
	all := []string{"1 DEADLOCK", "in Waits.lambda$main$", "held by thread "}
	for _, want := range all {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
