// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

func observing(pool *Pool, mode Mode, f func(o *Observer)) {
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		o := New(ctl, pool, mode)
		defer o.Close()
		f(o)
	})
}

func TestReasonsHaveTheNamesOfTheStatistics(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{ptrace.ErrGone, "exited"}, {ptrace.ErrTraced, "traced"}, {ptrace.ErrDenied, "denied"},
		{ptrace.ErrTimeout, "timeout"},
		{ptrace.ErrKernelThread, "kernel-thread"}, {ptrace.ErrZombie, "zombie"}, {ptrace.Err32Bit, "32-bit"},
		{ptrace.ErrBusy, "busy"}, {errs.MaxPause, "max-pause"}, {errs.Running, "running"}, {errors.New("x"), "other"},
	} {
		if got := Reason(c.err).Word(); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

func TestStopLimitGoesByTheThreadsOwnStopsThenByThoseOfOthers(t *testing.T) {
	p := stopLimit{limit: 100e3}
	var a, b, c Thread
	if !p.tryAdmitStop(&a) { // firstStopTime
		t.Error("the usual stop is over 100 µs")
	}
	for range 50 {
		p.learnStopTime(&a, 500e3)
	}
	if p.tryAdmitStop(&a) || p.tryAdmitStop(&b) {
		t.Error("stops of 500 µs are allowed")
	}
	for range 50 {
		p.learnStopTime(&c, 20e3)
	}
	if !p.tryAdmitStop(&c) {
		t.Error("a stop of 20 µs is not allowed")
	}
	tries := 0
	for ; !p.tryAdmitStop(&b); tries++ {
		if tries > 100*stopLimitDecay {
			t.Fatal("a thread is never observed again")
		}
	}
	if tries < 100 {
		t.Errorf("tried again after %d observations", tries)
	}
}

func TestStopLimitBelowAnyStopStaysClosed(t *testing.T) {
	p := stopLimit{limit: minStopTime - 1}
	var a Thread
	for range 100 * stopLimitDecay {
		if p.tryAdmitStop(&a) {
			t.Fatal("allowed")
		}
	}
}

func TestPoolCountsWhatIsOutAndKeepsNoLargeBuffers(t *testing.T) {
	p := NewPool(4)
	a, b := p.Get(), p.Get()
	a.buffers.reserveStack(1 << 10)
	b.buffers.reserveStack(2 * maxKeptBuffer)
	b.buffers.reserveStack(4 * maxKeptBuffer)
	a.buffers.reserveOthers(1<<12 - 1)
	if got := p.BytesInUse(); got != 1<<10+1<<12+4*maxKeptBuffer {
		t.Errorf("%d bytes out", got)
	}
	for range 2 {
		if stack := a.BeginWaiting(); stack != 1<<10 {
			t.Errorf("%d bytes of stack", stack)
		}
	}
	if got := p.BytesWaiting(); got != 1<<10+1<<12 {
		t.Errorf("%d bytes wait", got)
	}
	p.Put(a)
	p.Put(b)
	if p.BytesWaiting() != 0 || p.BytesInUse() != 0 || len(p.free) != 1 || p.freeBytes.Load() != 1<<10+1<<12 {
		t.Errorf("%d bytes out, %d kept with %d bytes", p.BytesInUse(), len(p.free), p.freeBytes.Load())
	}
	c := p.Get()
	if p.freeBytes.Load() != 0 {
		t.Errorf("%d bytes are kept, though none is free", p.freeBytes.Load())
	}
	c.buffers.reserveOthers(maxKeptBuffer)
	if p.Put(c); len(p.free) != 0 {
		t.Error("a large buffer of other memory is kept")
	}
}

func TestPoolIsTrimmedToWhatWasNeededLately(t *testing.T) {
	p := NewPool(64)
	use := func(n int) {
		var out []*RawSample
		for range n {
			s := p.Get()
			s.buffers.reserveStack(1 << 10)
			out = append(out, s)
		}
		for _, s := range out {
			p.Put(s)
		}
	}
	use(50)
	p.Trim()
	for range 3 {
		use(5)
	}
	p.Trim()
	if len(p.free) != 5 || p.freeBytes.Load() != 5<<10 {
		t.Errorf("%d shots are kept, %d bytes", len(p.free), p.freeBytes.Load())
	}
	p.Trim()
	if len(p.free) != 0 || p.freeBytes.Load() != 0 {
		t.Errorf("%d shots are kept, %d bytes, though none was needed", len(p.free), p.freeBytes.Load())
	}
}

func TestPagesOfACopyAreThereBeforeTheStop(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct{ expected, want int }{{0, minTouched}, {100 << 10, 100<<10 + copyMargin}, {2 * n, n}} {
		s := &RawSample{}
		s.buffers.reserveStack(n)
		if s.buffers.touch(c.expected); s.buffers.touched != c.want {
			t.Errorf("%d bytes are expected, %d are there, want %d", c.expected, s.buffers.touched, c.want)
		}
		s.buffers.stack[0] = 1
		if s.buffers.touch(0); s.buffers.touched != c.want || s.buffers.stack[0] != 1 {
			t.Errorf("%d bytes are there, want %d; the first is %d", s.buffers.touched, c.want, s.buffers.stack[0])
		}
		if s.buffers.reserveStack(2 * n); s.buffers.touched != 0 {
			t.Errorf("%d bytes of another buffer are there", s.buffers.touched)
		}
	}
}

func TestPoolKeepsNoMoreThanOrdinaryTicksNeed(t *testing.T) {
	const each = 256 << 10
	p := NewPool(1024)
	var out []*RawSample
	for range 2 * maxKeptBytes / each {
		s := p.Get()
		s.buffers.reserveStack(each)
		out = append(out, s)
	}
	for _, s := range out {
		p.Put(s)
	}
	if n := len(p.free); n != maxKeptBytes/each || p.freeBytes.Load() != maxKeptBytes {
		t.Errorf("%d buffers, %d bytes kept", n, p.freeBytes.Load())
	}
	for range maxKeptBytes / each {
		p.Get()
	}
	if p.freeBytes.Load() != 0 {
		t.Errorf("%d bytes kept of nothing", p.freeBytes.Load())
	}
}

func TestTracersThreadIsNotTheFirstOne(t *testing.T) {
	for range 100 {
		procmem.OnOSThread(func() {
			if unix.Gettid() == os.Getpid() {
				t.Error("the first thread, which never ends")
			}
		})
	}
}

func TestWaitSaysNothingOfRunningThreadsAndTheKernelsReasonOutsideOfCalls(t *testing.T) {
	s := &RawSample{State: sample.Running, Call: procmem.SyscallInfo{Nr: 0}}
	s.Regs.Arch = frames.X86_64
	if got := s.WaitReason(); got != "" {
		t.Errorf("running: %q", got)
	}
	s.State = sample.Stopped
	if got := s.WaitReason(); got != "stopped" {
		t.Errorf("stopped: %q", got)
	}
	s.State = sample.Sleeping
	if got := s.WaitReason(); got != "read" {
		t.Errorf("in a call: %q", got)
	}
	s.Call.Nr, s.KernelStack.wchan = -1, []byte("folio_wait_bit_common")
	if got := s.WaitReason(); got != "page fault" {
		t.Errorf("in a page fault: %q", got)
	}
	if s.KernelStack.wchan = nil; s.WaitReason() != "" {
		t.Errorf("unknown: %q", s.WaitReason())
	}
}

func TestNoStopIsBegunWhoseExpectedLengthIsOverTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const limit = 100 * time.Microsecond
	p := stopLimit{limit: limit}
	threads := make([]Thread, 20)
	begun, left := 0, 0
	for range 100_000 {
		th := &threads[rng.IntN(len(threads))]
		if !p.tryAdmitStop(th) {
			left++
			continue
		}
		begun++
		if th.stops.expectedTime > limit {
			t.Fatalf("begun, though %d ns are expected", th.stops.expectedTime)
		}
		length := time.Duration(rng.Int64N(150e3))
		if rng.IntN(30) == 0 {
			length = time.Duration(rng.Int64N(5e6))
		}
		before := th.stops.expectedTime
		p.learnStopTime(th, length)
		if want := max(before+(length-before)/8, minStopTime); th.stops.expectedTime != want {
			t.Fatalf("%d ns are expected after one of %d, want %d", th.stops.expectedTime, length, want)
		}
	}
	if begun < 1000 || left < 1000 {
		t.Errorf("%d begun, %d not begun", begun, left)
	}
}
