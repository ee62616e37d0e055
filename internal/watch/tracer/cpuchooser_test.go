// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"
	"prywalk/ptrace"
)

func TestTracerLeavesACPUWhereItPreemptsThreads(t *testing.T) {
	var cpus unix.CPUSet
	cpus.Set(0)
	cpus.Set(1)
	cpus.Set(2)
	var got []unix.CPUSet
	p := &cpuChooser{allowed: cpus, allowedKnown: true, preferredCPU: -1, stay: minStay,
		move: func(s *unix.CPUSet) error { got = append(got, *s); return nil }}
	p.endTick(1, false, 0)
	if len(got) != 0 {
		t.Fatal("the tracer moves though it preempts no thread")
	}
	p.endTick(2, true, 0)
	if len(got) != 1 || got[0].IsSet(0) || !got[0].IsSet(1) || !got[0].IsSet(2) {
		t.Fatalf("allowed CPUs %v, want one set without CPU 0", got)
	}
	// With running threads on all CPUs the tracer moves after 20, 40, 80 ms …, not at each tick.
	for now := ptrace.Moment(10e6); now < 10e9; now = now.Add(10e6) {
		p.endTick(now, true, 1)
	}
	if n := len(got); n < 8 || n > 14 {
		t.Errorf("%d moves in ten seconds, want 8 to 14", n)
	}
	for range quietTicks {
		p.endTick(11e9, false, 2)
	}
	before := len(got)
	p.endTick(20e9, true, 2)
	if len(got) != before+1 || p.stay != 2*minStay {
		t.Errorf("%d moves after a quiet time, the next after %d ns; want 1, %d", len(got)-before, p.stay, int64(2*minStay))
	}
}

func TestTracerLeavesItsCPU(t *testing.T) {
	procmem.OnOSThread(func() {
		p := newCPUChooser(func() {})
		if !p.canMove() {
			t.Skip("needs two CPUs: a machine with more")
		}
		for range 10 {
			cpu := procmem.CPU()
			if p.leave(cpu); procmem.CPU() == cpu {
				t.Errorf("the tracer is still on CPU %d", cpu)
			}
		}
	})
}

func TestTracerStaysWhereMovingIsRefused(t *testing.T) {
	n := 0
	refuse := func(*unix.CPUSet) error { n++; return errors.New("no") }
	p := &cpuChooser{allowedKnown: true, preferredCPU: -1, stay: minStay, move: refuse}
	p.endTick(1, true, 0)
	p.endTick(9e9, true, 0)
	if n != 2 { // one move, and one back
		t.Errorf("%d attempts, want 2", n)
	}
}

func TestTracerPrefersCPUsOfThreadsWithManySystemCalls(t *testing.T) {
	var cpus unix.CPUSet
	for c := range 4 {
		cpus.Set(c)
	}
	at := -1
	p := &cpuChooser{allowed: cpus, allowedKnown: true, preferredCPU: -1, stay: minStay,
		rng: rand.New(rand.NewPCG(1, 2)),
		move: func(s *unix.CPUSet) error {
			for at = 0; s.Count() == 1 && !s.IsSet(at); at++ {
			}
			if s.Count() > 1 {
				at = -1
			}
			return nil
		}}
	n := [4]int{}
	for tick := range int64(4000) {
		p.prefer(1)
		p.prefer(3)
		p.prefer(7) // not in the allowed set
		p.endTick(ptrace.Moment(tick*10e6), true, at)
		n[at]++
	}
	// Each is drawn half of the time: 2,000 with a standard deviation of 32.
	if n[0]+n[2] != 0 || n[1] < 1800 || n[1] > 2200 {
		t.Errorf("stops by CPU %v, want 1800 to 2200 on CPU 1, none on 0 and 2", n)
	}
	p.endTick(4000*10e6+ptrace.Moment(preferFor), false, at)
	if at != -1 || p.preferredCPU != -1 {
		t.Errorf("the tracer still prefers CPU %d", at)
	}
}

func TestChooserCallsBackAfterAMove(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: its affinity is changed
		moved := 0
		p := newCPUChooser(func() { moved++ })
		if !p.allowedKnown {
			return
		}
		p.moveTo(&p.allowed)
		if moved != 1 {
			t.Errorf("the callback was called %d times, want 1", moved)
		}
	}()
	bounded.Receive(t, "the move ends", done)
}

func TestTracerLeavesTheCPUOfAThreadThatOutranksIt(t *testing.T) {
	var cpus unix.CPUSet
	for c := range 3 {
		cpus.Set(c)
	}
	var got []unix.CPUSet
	p := &cpuChooser{allowed: cpus, allowedKnown: true, preferredCPU: -1, stay: minStay, rng: rand.New(rand.NewPCG(1, 2)),
		move: func(s *unix.CPUSet) error { got = append(got, *s); return nil }}
	p.prefer(0)
	p.endTick(1, false, 1)
	p.avoid(0)
	p.prefer(0)
	p.endTick(2, false, 0)
	if last := got[len(got)-1]; last.IsSet(0) || !last.IsSet(1) || !last.IsSet(2) || p.mayMove() {
		t.Fatalf("allowed CPUs %v, want 1 and 2", last)
	}
	moves := len(got)
	p.avoid(0)
	p.endTick(3, false, 1)
	for c := range 3 { // none is better
		p.avoid(c)
	}
	p.endTick(10e9, false, 1)
	p.avoid(7) // not in the allowed set
	p.endTick(20e9, false, 1)
	if len(got) != moves {
		t.Errorf("%d moves, want none so soon, and none where no CPU is better", len(got)-moves)
	}
	// A preference ends even if the tracer could not leave at once.
	p.avoid(0)
	p.endTick(30e9, false, 1)
	p.prefer(1)
	p.endTick(30e9+1, false, 1)
	p.avoid(1)
	p.endTick(30e9+2, false, 1)
	p.endTick(30e9+2*ptrace.Moment(preferFor), false, 1)
	if last := got[len(got)-1]; last.Count() != 3 {
		t.Errorf("allowed CPUs %v after a preference has ended, want all", last)
	}
}
