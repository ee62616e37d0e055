package sampler

import (
	"math/rand/v2"
	"testing"

	"prywalk/internal/quota"
)

// group simulates a control group with a quota, on one processor. All times are in nanoseconds.
type group struct {
	limit                 quota.Limit
	now, next, used, left int64
	sample                quota.Sample
}

func (g *group) Read() (quota.Sample, error) {
	g.sample.Used = g.used
	return g.sample, nil
}

func (g *group) Close() {}

// run lets some time pass, in which somebody of the group works if it may.
func (g *group) run(ns int64, works bool) {
	switch {
	case g.left <= 0:
		g.sample.ThrottledFor += ns
	case works:
		if g.used, g.left = g.used+ns, g.left-ns; g.left <= 0 {
			g.sample.Throttled++
		}
	}
	if g.now += ns; g.now >= g.next {
		g.next += g.limit.Period
		g.sample.Periods++
		g.left = min(g.left, 0) + g.limit.Quota
	}
}

// asked is a thread that was asked to stop.
type asked struct {
	stops     int64
	throttled bool // the group stood still while it was stopped
}

// simulation is of a tracer and an accountant in a group.
type simulation struct {
	g       *group
	u       *underQuota
	asked   []asked
	backlog int64 // of the accountant, as processor time
	made    int64 // looks that it was not yet told of
	// frozen counts all freezes, throttled those that fell into a time in which the group stood still.
	frozen, throttled int
}

const (
	simStep   = 50e3
	lookTakes = 50e3
	bookTakes = 1500e3
)

func newSimulation(turns bool) *simulation {
	g := &group{limit: quota.Limit{Quota: 5e6, Period: 100e6}, next: 100e6, left: 5e6}
	s := &simulation{g: g, u: &underQuota{meter: g, guard: quota.NewGuard(g.limit, 1, g.sample, 0)}}
	if turns {
		s.u.turns = s.turns()
	}
	return s
}

func (s *simulation) turns() turns {
	return turns{
		clock: func() int64 { return s.g.now },
		busy:  func() bool { return s.backlog > 0 },
		under: func() int { return len(s.asked) },
		due:   func(int64) bool { return s.made > 0 },
	}
}

// serve ends the freezes of those that have stopped, if the group may run.
func (s *simulation) serve() {
	for i := 0; i < len(s.asked); i++ {
		if s.asked[i].stops > s.g.now {
			continue
		}
		if s.g.left <= 0 {
			s.asked[i].throttled = true
			continue
		}
		s.g.run(lookTakes, true)
		if s.asked[i].throttled {
			s.throttled++
		}
		s.asked = append(s.asked[:i], s.asked[i+1:]...)
		s.frozen, s.made, i = s.frozen+1, s.made+1, i-1
	}
}

// tick asks some threads to stop, which they do within 60 ms, and tells the accountant what there is.
func (s *simulation) tick(rng *rand.Rand) {
	for n := 0; s.u.enough() && s.u.goesOn() && n < 6 && len(s.asked) < 12; n++ {
		s.g.run(20e3, true)
		s.asked = append(s.asked, asked{stops: s.g.now + int64(rng.IntN(60e6))})
	}
	if s.u.turns.busy == nil || !s.u.turns.hold() {
		s.backlog, s.made = s.backlog+s.made*bookTakes, 0
	}
}

func (s *simulation) run(freezes int) {
	rng := rand.New(rand.NewPCG(7, 8))
	for tick := int64(0); s.frozen < freezes; {
		s.serve()
		if s.g.left > 0 && s.g.now >= tick {
			tick = s.g.now + 1e6
			s.tick(rng)
		}
		works := s.backlog > 0 && s.g.left > 0
		if s.g.run(simStep, works); works {
			s.backlog = max(s.backlog-simStep, 0)
		}
	}
}

// TestNobodyIsStoppedWhileTheGroupStandsStill simulates a quota of 5 % at 1 kHz, threads that have to wait for a
// processor before they stop, and an accountant that takes more than the quota. Where tracer and accountant take
// turns, nobody is stopped while the group stands still; where they do not, many are.
func TestNobodyIsStoppedWhileTheGroupStandsStill(t *testing.T) {
	with, without := newSimulation(true), newSimulation(false)
	with.run(10000)
	without.run(10000)
	t.Logf("%d of %d freezes, without turns %d of %d; the group stood still %d and %d times", with.throttled, with.frozen,
		without.throttled, without.frozen, with.g.sample.Throttled, without.g.sample.Throttled)
	if with.throttled > 0 {
		t.Errorf("%d of %d freezes fell into a time in which the group stood still", with.throttled, with.frozen)
	}
	if with.g.sample.Throttled == 0 {
		t.Error("the group never stood still: this says nothing")
	}
	if without.throttled < 100 {
		t.Errorf("without turns only %d of %d did: this says little", without.throttled, without.frozen)
	}
}

// TestTurnsEnd: who does not stop for long keeps neither the accountant nor the tracer from its work.
func TestTurnsEnd(t *testing.T) {
	s := newSimulation(true)
	now := &s.g.now
	*now = 1e9
	if !s.u.turns.mayBegin() || s.u.turns.hold() {
		t.Error("nobody works, and nobody is asked to stop")
	}
	s.asked = []asked{{stops: 1 << 62}}
	if !s.u.turns.mayBegin() || !s.u.turns.hold() {
		t.Error("the turn has only begun")
	}
	if *now += turnFor; s.u.turns.mayBegin() || !s.u.turns.hold() {
		t.Error("it ends when those under way have stopped")
	}
	if *now += turnMost; s.u.turns.hold() {
		t.Error("the accountant waits without end")
	}
	if s.backlog = 1; s.u.turns.mayBegin() {
		t.Error("the accountant works")
	}
	if s.backlog = 0; !s.u.turns.mayBegin() {
		t.Error("the tracer waits without end")
	}
}
