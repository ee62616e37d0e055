// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/samestack"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// napper is a thread of naps.c.
type napper struct {
	t       *testing.T
	proc    *code.Process
	thread  *Thread
	walker  frames.Walker
	learner samestack.Learner
}

// startNapper starts the program with one thread, which naps so many milliseconds at a time, always in the same place.
func startNapper(t *testing.T, milliseconds string, flags ...string) *napper {
	t.Helper()
	return startNapperIn(t, "same", milliseconds, flags...)
}

// startNapperIn does so with one that naps in these places.
func startNapperIn(t *testing.T, places, milliseconds string, flags ...string) *napper {
	t.Helper()
	exe, err := testtargets.Compile("naps.c", flags...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "1", milliseconds, places)
	_, says := testtargets.Talk(t, cmd)
	if line, err := bufio.NewReader(says).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the target says %q, %v", line, err)
	}
	n := &napper{t: t}
	if n.proc, err = code.Open(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.proc.Close() })
	tids, err := n.proc.Threads(nil)
	if err != nil || len(tids) != 2 {
		t.Fatalf("threads %v, %v", tids, err)
	}
	other := slices.IndexFunc(tids, func(tid int) bool { return tid != n.proc.PID })
	n.thread = NewThread(n.proc.PID, tids[other], procmem.NewBudget(16))
	t.Cleanup(n.thread.Close)
	n.thread.Memory = n.proc.Memory()
	return n
}

// look looks until a look meets the thread asleep, after it has run since the last one.
func (n *napper) look(l *Looker) (Outcome, *Shot) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		o, shot, err := l.Begin(n.thread)
		if err != nil && !errors.Is(err, refusal.Running) {
			n.t.Error(err)
			return o, nil
		}
		if err == nil && (o == Done || o == SleptAgain) {
			return o, shot
		}
	}
	n.t.Error("the thread does not sleep")
	return 0, nil
}

// words finds out what the walk of a shot depends on.
func (n *napper) words(s *Shot, known *samestack.Words) *samestack.Words {
	args := ArgumentRegisters(s.Regs.Arch)
	return n.learner.Learn(n.proc.Space(), &s.Regs, &args, &s.Mem.Stack, &s.Call, known)
}

// addresses gives a shot's frames by a walk.
func (n *napper) addresses(s *Shot) (got []frames.Addr, stop frames.StopReason) {
	w := &n.walker
	for w.Init(n.proc.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		got = append(got, f.PC, f.SP)
	}
	return got, w.StopReason()
}

func TestASleepLikeTheLastOneTakesFiveCallsAndNothingElse(t *testing.T) {
	n := startNapper(t, "5", "-O2")
	n.thread.SetSampled(64 << 10) // whom the tracer preempts is not asked
	OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := NewPool(4)
		l := New(ctl, pool, OnlyPeek)
		defer l.Close()
		n.look(l) // the first nap's numbers are zero
		o, s := n.look(l)
		words := n.words(s, nil)
		if o != Done || s == nil || words == nil {
			t.Errorf("outcome %d, words %v", o, words)
			return
		}
		n.thread.walks.Sleeps(s, words)
		n.thread.walks.handOver()
		n.look(l)
		least, allocs := int64(1<<20), uint64(1<<20) // a thread that wakes up meanwhile is looked at more than once
		for range 50 {
			time.Sleep(6 * time.Millisecond)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			calls := procmem.Calls()
			o, s, err := l.Begin(n.thread)
			calls = procmem.Calls() - calls
			runtime.ReadMemStats(&after)
			if o != SleptAgain {
				if o == Done && err == nil {
					pool.Put(s) // it is told anew each second
				}
				continue
			}
			if s != nil || err != nil {
				t.Errorf("shot %v, %v", s, err)
			}
			allocs = min(allocs, after.Mallocs-before.Mallocs)
			least = min(least, calls)
		}
		// The count of runs, the call, the stack, the state, and the count again.
		if least != 5 || allocs != 0 {
			t.Errorf("%d system calls, %d allocations", least, allocs)
		}
		n.thread.SeenElsewhere() // as after a sample
		if o, _ := n.look(l); o != Done {
			t.Errorf("after a sample: outcome %d", o)
		}
	})
}

// TestASleepElsewhereIsNotTakenForTheLastOne: a thread naps below two functions in turn, where the call, the stack
// pointer and the program counter are the same. Each look that says the same sleep is checked by a walk of that sleep.
func TestASleepElsewhereIsNotTakenForTheLastOne(t *testing.T) {
	n := startNapperIn(t, "turns", "3", "-O2")
	n.thread.SetSampled(64 << 10)
	other := NewThread(n.thread.PID, n.thread.TID, procmem.NewBudget(16))
	t.Cleanup(other.Close)
	other.Memory = n.thread.Memory
	OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := NewPool(4)
		l, plain := New(ctl, pool, OnlyPeek), New(ctl, pool, AlwaysPeek)
		defer l.Close()
		defer plain.Close()
		var last []frames.Addr
		again, anew := 0, 0
		other.SetSampled(64 << 10)
		for end := time.Now().Add(3 * time.Minute); time.Now().Before(end) && (again < 20 || anew < 20); {
			time.Sleep(time.Duration(1+rand.IntN(12)) * time.Millisecond) // the next nap, or the one after it
			o, s, err := l.Begin(n.thread)
			switch {
			case err != nil && !errors.Is(err, refusal.Running):
				t.Error(err)
				return
			case err == nil && o == Done:
				anew++
				last, _ = n.addresses(s)
				n.walked(pool, s)
			case err == nil && o == SleptAgain:
				if o, s, err := plain.Begin(other); err == nil && o == Done {
					if got, _ := n.addresses(s); s.Sched == n.thread.LastSched() {
						if again++; !slices.Equal(got, last) {
							t.Errorf("taken for the sleep at %x, it is that at %x", last, got)
						}
					}
					pool.Put(s)
				}
			}
		}
		if again < 20 || anew < 20 {
			t.Errorf("%d sleeps like the last one were checked, %d others", again, anew)
		}
	})
}

// walked tells the thread's looks what a walk of a shot depended on, and gives the shot back.
func (n *napper) walked(pool *Pool, s *Shot) {
	n.thread.walks.Sleeps(s, n.words(s, nil))
	n.thread.walks.handOver()
	pool.Put(s)
}

// TestWordsThatMatterAreThoseThatTheFramesDependOn changes each word of a copy. Where the words are taken to hold all
// the same, a walk must give the same frames.
func TestWordsThatMatterAreThoseThatTheFramesDependOn(t *testing.T) {
	for name, flags := range map[string][]string{
		"O0": {"-O0"}, "O2": {"-O2"}, "O2fp": {"-O2", "-fno-omit-frame-pointer"},
		"nocfi": {"-O1", "-g0", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"},
	} {
		t.Run(name, func(t *testing.T) {
			n := startNapper(t, "3600000", flags...)
			OnThread(n.changeWords)
		})
	}
}

func (n *napper) changeWords() {
	t := n.t
	ctl := ptrace.NewController(ptrace.Options{})
	defer ctl.Close()
	l := New(ctl, NewPool(4), OnlyPeek)
	defer l.Close()
	_, s := n.look(l)
	w, stack := n.words(s, nil), &s.Mem.Stack
	want, stop := n.addresses(s)
	switch {
	case w == nil:
		t.Errorf("it is not known what the walk depends on, which ends by %v", stop)
		return
	case n.words(s, w) != w:
		t.Error("the same words are given anew")
	case !w.Hold(&s.Call, stack):
		t.Error("the words do not hold where they were learned")
	}
	held := 0
	for at := s.Regs.SP(); at < want[len(want)-1]; at += 8 {
		word := stack.Bytes[at-stack.Addr:][:8]
		for _, change := range []byte{0xff, 0x08} {
			word[0] ^= change
			if w.Hold(&s.Call, stack) {
				held++
				if got, stop := n.addresses(s); !stop.Complete() || !slices.Equal(got, want) {
					t.Errorf("the word at sp+%d matters: %v, %x, want %x", at-s.Regs.SP(), stop, got, want)
				}
			}
			word[0] ^= change
		}
	}
	if held == 0 {
		t.Errorf("all of %d words matter", w.Len())
	}
	other, short := s.Call, *stack
	other.PC++
	short.Bytes = short.Bytes[:8]
	if w.Hold(&other, stack) || w.Hold(&s.Call, &short) {
		t.Error("the words hold at another program counter, or in a copy that lacks them")
	}
	t.Logf("%d words matter; %d changes of others do not", w.Len(), held)
}
