package look

import (
	"fmt"
	"testing"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/samestack"
	"prywalk/ptrace"
)

// learn tells the thread what a walk of a shot depends on.
func (s *sleeper) learn(shot *Shot, l *samestack.Learner) *samestack.Words {
	args := ArgumentRegisters(shot.Regs.Arch)
	w := l.Learn(s.proc.Space(), &shot.Regs, &args, &shot.Mem.Stack, &shot.Call, s.thread.walks.Sleep())
	s.thread.walks.Sleeps(shot, w)
	s.thread.walks.handOver()
	return w
}

// addresses gives a shot's frames by a walk.
func (s *sleeper) addresses(regs *frames.Regs, mem *frames.Snapshot) (got []frames.Addr, stop frames.StopReason) {
	w := &s.walker
	for w.Init(s.proc.Space(), regs, mem); w.Next(); {
		f := w.Frame()
		got = append(got, f.PC, f.SP)
	}
	return got, w.StopReason()
}

// again begins a look with a thread that sleeps.
func (s *sleeper) again(l *Looker) (Outcome, *Shot) {
	s.t.Helper()
	s.untilAsleep(0)
	o, shot, err := l.Begin(s.thread)
	if err != nil {
		s.t.Fatal(err)
	}
	return o, shot
}

func TestASleepLikeTheLastOneTakesFiveCallsAndNoShot(t *testing.T) {
	s := startSleeper(t, "O2fp", "futex", "plain")
	s.thread.Close()
	s.thread = NewThread(s.thread.PID, s.thread.TID, procmem.NewBudget(16))
	t.Cleanup(s.thread.Close)
	s.thread.Memory = s.proc.Memory()
	s.thread.SetSampled(64 << 10) // whom the tracer preempts is not asked
	OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := NewPool(4)
		l := New(ctl, pool, Ladder)
		defer l.Close()
		var learner samestack.Learner
		o, shot := s.again(l)
		if o != Done || s.walk(shot).stop != frames.StopRoot {
			t.Errorf("the first look: outcome %d", o)
			return
		}
		words := s.learn(shot, &learner)
		if words == nil {
			t.Error("it is not known what the walk depends on")
			return
		}
		pool.Put(shot)
		for i := range 5 {
			s.wake()
			s.untilAsleep(0)
			calls, copied := procmem.Calls(), procmem.Copied()
			o, shot, err := l.Begin(s.thread)
			calls, copied = procmem.Calls()-calls, procmem.Copied()-copied
			if o != SleptAgain || shot != nil || err != nil {
				t.Errorf("look %d: outcome %d, %v", i, o, err)
				return
			}
			// The count of runs, the call, the stack, the count again, and the state.
			if calls != 5 {
				t.Errorf("%d system calls", calls)
			}
			t.Logf("%d system calls, %d bytes copied, %d words compared", calls, copied, words.Len())
		}
		if out := pool.Out(); out > int64(cap(l.spare.buf)) {
			t.Errorf("%d bytes of shots are out", out)
		}
		s.thread.SeenElsewhere() // as after a sample
		s.wake()
		if o, _ := s.again(l); o != Done {
			t.Errorf("after a sample: outcome %d", o)
		}
	})
}

// TestWordsThatMatterAreThoseThatTheFramesDependOn changes each word of a copy. Where the words are taken to hold all the
// same, a walk must give the same frames.
func TestWordsThatMatterAreThoseThatTheFramesDependOn(t *testing.T) {
	for variant := range variants {
		for _, shape := range []string{"plain", "stale", "recursive", "pointer"} {
			t.Run(variant+" "+shape, func(t *testing.T) {
				s := startSleeper(t, variant, "futex", shape)
				OnThread(func() { s.changeWords() })
			})
		}
	}
}

func (s *sleeper) changeWords() {
	ctl := ptrace.NewController(ptrace.Options{})
	defer ctl.Close()
	l := New(ctl, NewPool(4), OnlyPeek)
	defer l.Close()
	o, shot := s.again(l)
	if o != Done {
		s.t.Errorf("outcome %d", o)
		return
	}
	var learner samestack.Learner
	args := ArgumentRegisters(shot.Regs.Arch)
	w := learner.Learn(s.proc.Space(), &shot.Regs, &args, &shot.Mem.Stack, &shot.Call, nil)
	want, stop := s.addresses(&shot.Regs, &shot.Mem)
	if w == nil {
		s.t.Skipf("it is not known what the walk depends on, which ends by %v", stop)
	}
	if again := learner.Learn(s.proc.Space(), &shot.Regs, &args, &shot.Mem.Stack, &shot.Call, w); again != w {
		s.t.Error("the same words are given anew")
	}
	if !w.Hold(&shot.Call, &shot.Mem.Stack) {
		s.t.Error("the words do not hold where they were learned")
	}
	root := want[len(want)-1]
	held, b := 0, shot.Mem.Stack.Bytes
	for at := shot.Regs.SP(); at < root; at += 8 {
		word := b[at-shot.Mem.Stack.Addr:][:8]
		for _, change := range []byte{0xff, 0x08} {
			word[0] ^= change
			if w.Hold(&shot.Call, &shot.Mem.Stack) {
				held++
				if got, stop := s.addresses(&shot.Regs, &shot.Mem); !stop.Complete() || fmt.Sprint(got) != fmt.Sprint(want) {
					s.t.Errorf("the word at sp+%d matters: %v, %x, want %x", at-shot.Regs.SP(), stop, got, want)
				}
			}
			word[0] ^= change
		}
	}
	s.t.Logf("%d words matter; %d changes of others do not", w.Len(), held)
	other := shot.Call
	other.PC++
	if w.Hold(&other, &shot.Mem.Stack) {
		s.t.Error("they hold at another program counter")
	}
	short := shot.Mem.Stack
	short.Bytes = short.Bytes[:8]
	if w.Hold(&shot.Call, &short) && w.Len() > 1 {
		s.t.Error("they hold in a copy that lacks them")
	}
}
