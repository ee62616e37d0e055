// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"
	"slices"
	"testing"

	"prywalk/internal/base/sample"
)

// Of each 10 ms of a thread 4 are in the kernel: those are announced with the samples of its user space.
type userSampled struct {
	account threadAccount
	spans   []Span
	wall    int64
	cpu     int64
}

const (
	inUser sample.StackID = 1 + iota
	inCall
	asleep
)

func newUserSampled() *userSampled {
	u := &userSampled{}
	u.account.ledger.Emit = func(s Span) { u.spans = append(u.spans, s) }
	u.account.beginWithoutSample(sample.Reading{})
	return u
}

func (u *userSampled) add(s Sample, wall, cpu int64) {
	u.wall, u.cpu = u.wall+wall, u.cpu+cpu
	s.At = sample.Reading{Wall: u.wall, CPU: u.cpu}
	u.account.add(&s)
}

func (u *userSampled) runs(n int, kernel int64) {
	for range n {
		u.add(Sample{
			Place: Place{Stack: inUser, State: sample.Running}, OnCPU: true, FromKernel: true, StandsFor: 10e6 - kernel,
			KernelTime: kernel,
		}, 10e6, 10e6)
	}
}

func (u *userSampled) stop(most int64) {
	u.add(Sample{Place: Place{Stack: inCall, State: sample.Running}, CallTime: most}, 0, 0)
}

// finish returns the CPU time by stack and synthetic frame.
func (u *userSampled) finish(t *testing.T) map[any]int64 {
	t.Helper()
	u.account.finish()
	got, wall := map[any]int64{}, int64(0)
	for _, s := range u.spans {
		wall += s.Wall
		if key := any(s.Stack); s.CPU > 0 {
			if s.Leaf != "" {
				key = s.Leaf
			}
			got[key] += s.CPU
		}
	}
	if wall != u.wall {
		t.Errorf("%d ns of wall time, want %d", wall, u.wall)
	}
	return got
}

func TestTimeInTheKernelNeverGoesToSamplesOfUserSpace(t *testing.T) {
	sleep := Sample{Place: Place{Stack: asleep, State: sample.Sleeping}}
	for _, c := range []struct {
		name string
		do   func(*userSampled)
		want map[any]int64
	}{
		{"a stop in a call takes all", func(u *userSampled) {
			u.runs(50, 4e6)
			u.stop(math.MaxInt64)
			u.runs(50, 4e6)
		}, map[any]int64{inUser: 600e6, inCall: 400e6}},
		{"or what it stands for", func(u *userSampled) {
			u.runs(50, 4e6)
			u.stop(30e6)
		}, map[any]int64{inUser: 300e6, inCall: 30e6, InKernel: 170e6}},
		{"no stop, but a sleep", func(u *userSampled) {
			u.runs(50, 4e6)
			u.add(sleep, 5e6, 0)
		}, map[any]int64{inUser: 300e6, asleep: 200e6}},
		{"neither", func(u *userSampled) { u.runs(50, 4e6) }, map[any]int64{inUser: 300e6, InKernel: 200e6}},
		{"after 5 s", func(u *userSampled) {
			u.runs(50, 4e6)
			u.add(sleep, carryLimit, 0)
			u.add(sleep, 1e6, 0)
			u.stop(math.MaxInt64)
		}, map[any]int64{inUser: 300e6, asleep: 200e6}},
		{"only sleeps", func(u *userSampled) {
			for range 600 {
				s := sleep
				s.KernelTime = 9e4
				u.add(s, 10e6, 1e5)
			}
		}, map[any]int64{asleep: 60e6}},
		{"announced too late", func(u *userSampled) {
			u.runs(10, 0)
			s := sleep
			s.KernelTime = 30e6
			u.add(s, 10e6, 10e6)
			u.runs(2, 0)
		}, map[any]int64{inUser: 100e6, asleep: 30e6}},
	} {
		u := newUserSampled()
		c.do(u)
		got := u.finish(t)
		for key, want := range c.want {
			if got[key] != want {
				t.Errorf("%s: %v has %d ns, want %d (%v)", c.name, key, got[key], want, got)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestACheckpointDividesTimeInTheKernel(t *testing.T) {
	u := newUserSampled()
	u.runs(10, 4e6)
	u.stop(math.MaxInt64)
	u.runs(10, 4e6)
	open := int64(0)
	u.account.ledger.EmitOpen(func(s Span) {
		if s.Stack == inCall {
			open += s.CPU
		}
	})
	if open != 40e6 {
		t.Errorf("%d ns of the call are open, want 40 ms", open)
	}
	u.account.cut()
	i := slices.IndexFunc(u.spans, func(s Span) bool { return s.End == u.wall && s.Stack == inCall && s.CPU == 40e6 })
	if i < 0 {
		t.Errorf("no span of the call at the checkpoint: %+v", u.spans)
	}
	if got := u.finish(t); got[inUser] != 120e6 || got[inCall] != 80e6 {
		t.Errorf("%v", got)
	}
}
