// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"prywalk/internal/base/sample"
	"strconv"
	"testing"
)

type childTimes struct {
	all, walked map[string]int64
	under       map[sample.StackID]int64
}

func newChildTimes(of ...*processAccount) *childTimes {
	b := &childTimes{map[string]int64{}, map[string]int64{}, map[sample.StackID]int64{}}
	for _, p := range of {
		p.emit = b.add
	}
	return b
}

func (b *childTimes) add(s Span) {
	b.all[s.Program] += s.CPU
	if s.Leaf == "" {
		b.walked[s.Program] += s.CPU
		b.under[s.Stack] += s.CPU
	}
}

func (b *childTimes) sums() (all, rest int64) {
	for program, ns := range b.all {
		all, rest = all+ns, rest+ns-b.walked[program]
	}
	return all, rest
}

func ran(program string, stack sample.StackID) Place {
	return Place{Stack: stack, State: sample.Running, Program: program}
}

func TestTimeOfChildrenIsDividedAmongTheirSamples(t *testing.T) {
	for _, c := range []struct {
		name          string
		samples       int // of 10 each, a quarter of them in stack 2
		total, stacks int64
		rest          int64
	}{
		{"as many samples as the time has periods", 100, 1000, 1000, 0},
		{"fewer samples, within two standard errors", 100, 1190, 1190, 0},
		{"fewer samples than that", 100, 1500, 1200, 300},
		{"more samples than periods", 100, 700, 700, 0},
		{"no samples", 0, 700, 0, 700},
		{"no time", 100, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &processAccount{}
			b := newChildTimes(p)
			for i := range c.samples {
				stack := sample.StackID(1)
				if i%4 == 0 {
					stack = 2
				}
				p.addUnassignedOfChild(ran("ls", stack), 5e9, 10)
			}
			p.distributeChildren(c.total, 9e9)
			all, rest := b.sums()
			if rest != c.rest || b.under[1]+b.under[2] != c.stacks || all != c.total {
				t.Errorf("time of stacks %v, without a stack %d; want %d and %d", b.under, rest, c.stacks, c.rest)
			}
			if n := b.under[1] + b.under[2]; n > 0 && (b.under[2] < n/4 || b.under[2] > n/4+1) {
				t.Errorf("time of stacks %v, want a quarter in stack 2", b.under)
			}
			p.emit = func(s Span) { t.Errorf("the second call attributes %+v, want nothing", s) }
			p.distributeChildren(0, 9e9)
		})
	}
}

func TestKnownTimeOfAProgramIsAttributedToIt(t *testing.T) {
	for _, c := range []struct {
		name            string
		total, ls, sort int64 // known to be of these programs
		want            map[string]int64
	}{
		{"no program's time is known", 2000, 0, 0, map[string]int64{"ls": 1200, "": 800}},
		{"known time less than that of samples", 2000, 900, 0, map[string]int64{"ls": 1200, "": 800}},
		{"known time more than that of samples", 2000, 1500, 400, map[string]int64{"ls": 1500, "sort": 400, "": 100}},
		{"known time more than all", 2000, 2200, 3000, map[string]int64{"ls": 1400, "sort": 600}},
		{"samples take all", 1100, 900, 400, map[string]int64{"ls": 1100}},
	} {
		shell, kid, p, got := &processAccount{}, &processAccount{}, &processAccount{}, map[string]int64{}
		for range 100 {
			shell.addUnassignedOfChild(ran("ls", 1), 5e9, 10)
		}
		shell.children.add("ls", c.ls)
		if !kid.passUnobservedTo(shell, c.sort, 1000, "sort") {
			t.Fatal("a child that used less than a period does not pass its time to its parent")
		}
		shell.passChildrenTo(p, c.total-c.sort)
		p.emit = func(s Span) { got[s.Program] += s.CPU }
		p.distributeChildren(0, 9e9)
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: time by program %v, want %v", c.name, got, c.want)
		}
	}
}

func TestKnownProgramsAreBounded(t *testing.T) {
	p, sum := &processAccount{}, int64(0)
	for i := range 2 * maxPrograms {
		p.children.add(strconv.Itoa(i), 10)
	}
	if len(p.children.programs) != maxPrograms {
		t.Errorf("%d programs are kept, want %d", len(p.children.programs), maxPrograms)
	}
	p.emit = func(s Span) { sum += s.CPU }
	if p.distributeChildren(20*maxPrograms, 9e9); sum != 20*maxPrograms {
		t.Errorf("attributed %d ns, want %d", sum, 20*maxPrograms)
	}
}

func TestTimeOfChildrenIsAttributedIncrementally(t *testing.T) {
	p := &processAccount{}
	b := newChildTimes(p)
	for _, step := range []struct {
		samples           int // of 10 each
		more, under, rest int64
	}{
		{0, 50, 0, 0}, {3, 0, 30, 0}, {4, 30, 70, 0}, {0, 10, 70, 0}, {18, 0, 90, 0}, {0, 200, 250, 0},
	} {
		for range step.samples {
			p.addUnassignedOfChild(ran("ls", 1), 5e9, 10)
		}
		p.distributeChildrenSoFar(step.more, 9e9)
		if _, rest := b.sums(); b.under[1] != step.under || rest != step.rest {
			t.Errorf("time of the stack %d, without a stack %d; want %d and %d", b.under[1], rest, step.under, step.rest)
		}
	}
	p.distributeChildren(150, 9e9)
	if _, rest := b.sums(); b.under[1] != 250+100 || rest != 440-350 {
		t.Errorf("in the end: time of the stack %d, without a stack %d; want 350 and 90", b.under[1], rest)
	}
}

// 1,000 children of 1 ms; a tenth has a sample of 10 ms. Bound: two standard errors of 100 samples.
func TestShortChildrenShareTheirTime(t *testing.T) {
	const period, life, n = 10e6, 1e6, 1000
	random := rand.New(rand.NewPCG(7, 11))
	shell := &processAccount{}
	b := newChildTimes(shell)
	unobserved := int64(0)
	for i := range n {
		seen, sampled := ran("ls", 1), random.Float64() < life/period
		if x := random.Float64(); x > 0.8 {
			seen.Stack = 3
		} else if x > 0.5 {
			seen.Stack = 2
		}
		switch kid := (&processAccount{}); {
		case i%10 == 9:
			if sampled {
				kid.addUnassignedOfChild(seen, 1e9, period)
			}
			kid.passChildrenTo(shell, life)
		case i < n/2:
			if sampled {
				kid.addUnassigned(Place{Stack: seen.Stack, State: sample.Running}, 1e9, period)
			}
			if !kid.passUnobservedTo(shell, life, period, "ls") {
				t.Fatal("a child that used less than a period does not pass its time to its parent")
			}
		default:
			if sampled {
				shell.addUnassignedOfChild(seen, 1e9, period)
			}
			unobserved += life
		}
	}
	shell.distributeChildren(unobserved, 9e9)
	all, rest := b.sums()
	if all != n*life {
		t.Errorf("attributed %d ns, want %d", all, int64(n*life))
	}
	for stack, share := range map[sample.StackID]float64{1: 0.5, 2: 0.3, 3: 0.2} {
		if got := float64(b.under[stack]) / (n * life); got < share-0.1 || got > share+0.1 {
			t.Errorf("stack %d has a share of %.3f, want %v ± 0.1", stack, got, share)
		}
	}
	if rest > n*life/10 {
		t.Errorf("%d ns without a stack, want at most %d", rest, int64(n*life/10))
	}
}

func TestChildWithEnoughSamplesKeepsItsTime(t *testing.T) {
	kid, shell := &processAccount{attributed: 100}, &processAccount{}
	kid.addUnassigned(ran("ls", 1), 1e9, 10)
	if kid.passUnobservedTo(shell, 60, 10, "cc1") || kid.threads.samples.weightSum != 10 ||
		shell.children.samples.weightSum != 0 ||
		shell.children.undistributed != 0 {
		t.Errorf("the child's time was passed on: child %+v, parent %+v", kid, shell)
	}
}

// A fifth of each life is before exec. Bound: six standard errors of the number of samples, or of lives if fewer.
func TestProgramsOfShortChildrenHaveTheirShares(t *testing.T) {
	const period, n = 10e6, 60_000
	programs := []struct {
		name        string
		share, life float64
	}{{"sed", 0.2, 0.25}, {"cc1", 0.3, 1}, {"ld", 0.5, 0.5}}
	for _, longest := range []float64{0.2, 1, 6} { // in ticks
		random := rand.New(rand.NewPCG(uint64(longest*100), 5))
		shell, used, samples := &processAccount{}, 0.0, 0.0
		want := map[string]float64{}
		for _, p := range programs {
			life := p.life * longest
			for range int(n * p.share / p.life) {
				for age := random.Float64(); age < life; age++ {
					name := p.name
					if age < life/5 {
						name = "sh"
					}
					shell.addUnassignedOfChild(Place{State: sample.Running, Program: name, ChildState: ChildProgramOnly}, 1e9, period)
					samples++
				}
				used += life * period
				want[p.name] += 0.8 * life * period
				want["sh"] += 0.2 * life * period
			}
		}
		got, sum := map[string]float64{}, int64(0)
		shell.emit = func(s Span) {
			if s.Leaf != ShortLivedChildren {
				t.Fatalf("span %+v has a stack, want %s", s, ShortLivedChildren)
			}
			got[s.Program] += float64(s.CPU)
			sum += s.CPU
		}
		shell.distributeChildren(int64(used), 9e9)
		if sum != int64(used) {
			t.Errorf("lives of %v ticks: attributed %d ns, want %.0f", longest, sum, used)
		}
		if got[""] > 0.02*used {
			t.Errorf("lives of %v ticks: %.0f of %.0f ns have no program, want at most 2 %%", longest, got[""], used)
		}
		for name, ns := range want {
			p := ns / used
			if bound := 6 * math.Sqrt(p*(1-p)/min(samples, n)); math.Abs(got[name]/used-p) > bound {
				t.Errorf("lives of %v ticks: share of %s is %.4f, want %.4f ± %.4f", longest, name, got[name]/used, p, bound)
			}
		}
	}
}

// Lives of 0.1 to 40 ticks; observed from 2.5 ticks. Bound: six standard errors of the number of samples or lives.
func TestShortProcessesHaveTrueShares(t *testing.T) {
	const period, samples = 10_000_000, 40_000
	for _, ticks := range []float64{0.1, 0.5, 1.5, 2.7, 5, 10, 17, 40} {
		t.Run(fmt.Sprint(ticks), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, uint64(ticks*10)))
			life, n := int64(ticks*period)+1, int(samples/ticks)
			l := newLives()
			l.used = int64(n) * life
			shell := &processAccount{emit: l.add}
			unobserved := int64(0)
			for range n {
				kid, th := &processAccount{emit: l.add}, l.thread(1)
				opened := ticks > 2.5
				for age := rng.Int64N(period); age < life; age += period {
					if where := l.at(age, life); opened {
						l.sample(th, Sample{
							At: sample.Reading{Wall: 1 + age, CPU: age}, Place: where, OnCPU: true, StandsFor: period,
						})
					} else {
						where.Program = "cc1"
						shell.addUnassignedOfChild(where, age, period)
					}
				}
				if !opened {
					unobserved += life
					continue
				}
				kid.endThread(th, &End{})
				kid.finishThread(th)
				if unseen := kid.unobserved(life); !kid.passUnobservedTo(shell, unseen, period, "cc1") {
					kid.distributeExited(unseen, life)
				}
			}
			shell.distributeChildren(unobserved, life)
			independent := float64(min(n, samples))
			l.check(t, independent, 6/math.Sqrt(independent))
		})
	}
}

func TestWeightsOfSamplesThatSkidArePassedOn(t *testing.T) {
	shell := &processAccount{}
	b := newChildTimes(shell)
	for range 4 {
		shell.addUnassignedOfChild(ran("ls", 1), 5e9, 10)
	}
	kid := &processAccount{threads: endedThreadTime{skidded: skidded{count: 6, weight: 60}}}
	if !kid.passUnobservedTo(shell, 60, 10, "ls") || kid.threads.skidded.weight != 0 {
		t.Fatalf("time of skidded samples was not passed on: %+v", kid)
	}
	other := &processAccount{emit: b.add}
	shell.passChildrenTo(other, 40)
	shell.distributeChildren(0, 9e9)
	if len(b.all) != 0 {
		t.Errorf("the shell, which passed its time on, attributes it too: %v", b)
	}
	other.distributeChildren(0, 9e9)
	if all, _ := b.sums(); b.under[1] != 100 || all != 100 {
		t.Errorf("attributed %v, want 100 ns of stack 1", b)
	}
}
