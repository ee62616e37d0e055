// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"prywalk/frames"
	"prywalk/internal/sample"
	"strconv"
	"testing"
)

type spans struct {
	under map[sample.StackID]int64
	rest  int64
}

func (b *spans) add(s Span) {
	if s.Leaf == ShortLivedChildren {
		b.rest += s.CPU
		return
	}
	b.under[s.Stack] += s.CPU
}

func (b *spans) sum() (n int64) {
	for _, ns := range b.under {
		n += ns
	}
	return n + b.rest
}

func ranIn(stack sample.StackID) Seen {
	return Seen{Stack: stack, State: sample.Running, Program: "ls"}
}

func TestTimeOfChildrenIsSharedOutAmongTheirSamples(t *testing.T) {
	for _, c := range []struct {
		name        string
		samples     int // of 10 each, a quarter of them in stack 2
		pool, least int64
		rest        int64
	}{
		{"as many as are expected", 100, 1000, 1000, 0},
		{"fewer by chance", 100, 1190, 1190, 0},
		{"fewer than chance explains", 100, 1500, 1200, 300},
		{"more", 100, 700, 700, 0},
		{"none", 0, 700, 0, 700},
		{"no time", 100, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b := &Process{}, &spans{under: map[sample.StackID]int64{}}
			for i := range c.samples {
				stack := sample.StackID(1)
				if i%4 == 0 {
					stack = 2
				}
				p.ClaimOfChild(ranIn(stack), 5e9, 10)
			}
			p.Children(c.pool, 9e9, b.add)
			if b.rest != c.rest || b.under[1]+b.under[2] != c.least || b.sum() != c.pool {
				t.Errorf("%v and %d", b.under, b.rest)
			}
			if n := b.under[1] + b.under[2]; n > 0 && (b.under[2] < n/4 || b.under[2] > n/4+1) {
				t.Errorf("%v", b.under)
			}
			if again := (&spans{under: map[sample.StackID]int64{}}); true {
				p.Children(0, 9e9, again.add)
				if again.sum() != 0 {
					t.Errorf("booked twice: %v", again)
				}
			}
		})
	}
}

func TestKnownTimeOfAProgramIsAttributedToIt(t *testing.T) {
	for _, c := range []struct {
		name           string
		pool, ls, sort int64 // ls and sort: known
		want           map[string]int64
	}{
		{"nothing is known", 2000, 0, 0, map[string]int64{"ls": 1200, "": 800}},
		{"less than samples say", 2000, 900, 0, map[string]int64{"ls": 1200, "": 800}},
		{"more than samples say", 2000, 1500, 400, map[string]int64{"ls": 1500, "sort": 400, "": 100}},
		{"more than there is", 2000, 2200, 3000, map[string]int64{"ls": 1400, "sort": 600}},
		{"samples have it all", 1100, 900, 400, map[string]int64{"ls": 1100}},
	} {
		shell, kid, p, got := &Process{}, &Process{}, &Process{}, map[string]int64{}
		for range 100 {
			shell.ClaimOfChild(ranIn(1), 5e9, 10)
		}
		shell.ChildUsed("ls", c.ls)
		if !kid.PassTo(shell, c.sort, 1000, "sort") {
			t.Fatal("a short child keeps its time")
		}
		shell.PassChildrenTo(p, c.pool-c.sort)
		p.Children(0, 9e9, func(s Span) { got[s.Program] += s.CPU })
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

func TestKnownProgramsAreBounded(t *testing.T) {
	p, sum := &Process{}, int64(0)
	for i := range 2 * mostPrograms {
		p.ChildUsed(strconv.Itoa(i), 10)
	}
	if len(p.children.programs) != mostPrograms {
		t.Errorf("%d programs are known", len(p.children.programs))
	}
	if p.Children(20*mostPrograms, 9e9, func(s Span) { sum += s.CPU }); sum != 20*mostPrograms {
		t.Errorf("booked %d", sum)
	}
}

func TestTimeOfChildrenIsBookedBitByBit(t *testing.T) {
	p, b := &Process{}, &spans{under: map[sample.StackID]int64{}}
	for _, step := range []struct {
		samples           int // of 10 each
		more, under, rest int64
	}{
		{0, 50, 0, 0}, {3, 0, 30, 0}, {4, 30, 70, 0}, {0, 10, 70, 0}, {18, 0, 90, 0}, {0, 200, 250, 0},
	} {
		for range step.samples {
			p.ClaimOfChild(ranIn(1), 5e9, 10)
		}
		if p.ChildrenSoFar(step.more, 9e9, b.add); b.under[1] != step.under || b.rest != step.rest {
			t.Errorf("%v and %d, not %d and %d", b.under, b.rest, step.under, step.rest)
		}
	}
	if p.Children(150, 9e9, b.add); b.under[1] != 250+100 || b.rest != 440-350 {
		t.Errorf("%v and %d", b.under, b.rest)
	}
}

// 1,000 children of 1 ms; a tenth has a sample of 10 ms. Bound: two standard errors of 100 samples.
func TestShortChildrenArePooled(t *testing.T) {
	const period, life, n = 10e6, 1e6, 1000
	random := rand.New(rand.NewPCG(7, 11))
	shell, b := &Process{}, &spans{under: map[sample.StackID]int64{}}
	unobserved := int64(0)
	for i := range n {
		seen, sampled := ranIn(1), random.Float64() < life/period
		if x := random.Float64(); x > 0.8 {
			seen.Stack = 3
		} else if x > 0.5 {
			seen.Stack = 2
		}
		switch kid := (&Process{}); {
		case i%10 == 9: // a short-lived shell with an unobserved child
			if sampled {
				kid.ClaimOfChild(seen, 1e9, period)
			}
			kid.PassChildrenTo(shell, life)
		case i < n/2:
			if sampled {
				kid.Claim(Seen{Stack: seen.Stack, State: sample.Running}, 1e9, period)
			}
			if !kid.PassTo(shell, life, period, "ls") {
				t.Fatal("a short child keeps its time")
			}
		default:
			if sampled {
				shell.ClaimOfChild(seen, 1e9, period)
			}
			unobserved += life
		}
	}
	shell.Children(unobserved, 9e9, b.add)
	if b.sum() != n*life {
		t.Errorf("%d ns are booked", b.sum())
	}
	for stack, share := range map[sample.StackID]float64{1: 0.5, 2: 0.3, 3: 0.2} {
		if got := float64(b.under[stack]) / (n * life); got < share-0.1 || got > share+0.1 {
			t.Errorf("%.3f is in function %d, not %v", got, stack, share)
		}
	}
	if b.rest > n*life/10 {
		t.Errorf("%d ns have no function", b.rest)
	}
}

func TestChildWithSamplesEnoughKeepsItsTime(t *testing.T) {
	kid, shell := &Process{used: 100}, &Process{}
	kid.Claim(ranIn(1), 1e9, 10)
	if kid.PassTo(shell, 60, 10, "cc1") || kid.threads.weights.total != 10 || shell.children.weights.total != 0 ||
		shell.children.fromChildren != 0 {
		t.Errorf("%+v, %+v", kid, shell)
	}
}

// A fifth of each life is before exec. Bound: six standard errors of the number of finds, or of lives if fewer.
func TestProgramsOfShortChildrenHaveTheirShares(t *testing.T) {
	const period, n = 10e6, 60_000
	programs := []struct {
		name        string
		share, life float64
	}{{"sed", 0.2, 0.25}, {"cc1", 0.3, 1}, {"ld", 0.5, 0.5}}
	for _, longest := range []float64{0.2, 1, 6} { // in ticks
		random := rand.New(rand.NewPCG(uint64(longest*100), 5))
		shell, used, finds := &Process{}, 0.0, 0.0
		want := map[string]float64{}
		for _, p := range programs {
			life := p.life * longest
			for range int(n * p.share / p.life) {
				for age := random.Float64(); age < life; age++ {
					name := p.name
					if age < life/5 {
						name = "sh"
					}
					shell.ClaimOfChild(Seen{State: sample.Running, Program: name, Found: FoundUnseen}, 1e9, period)
					finds++
				}
				used += life * period
				want[p.name] += 0.8 * life * period
				want["sh"] += 0.2 * life * period
			}
		}
		got, sum := map[string]float64{}, int64(0)
		shell.Children(int64(used), 9e9, func(s Span) {
			if s.Leaf != ShortLivedChildren {
				t.Fatalf("%+v has a stack", s)
			}
			got[s.Program] += float64(s.CPU)
			sum += s.CPU
		})
		if sum != int64(used) {
			t.Errorf("lives of %v ticks: %d of %.0f ns are booked", longest, sum, used)
		}
		if got[""] > 0.02*used {
			t.Errorf("lives of %v ticks: %.0f of %.0f ns are of no program", longest, got[""], used)
		}
		for name, ns := range want {
			p := ns / used
			if bound := 6 * math.Sqrt(p*(1-p)/min(finds, n)); math.Abs(got[name]/used-p) > bound {
				t.Errorf("lives of %v ticks: %s has %.4f, not %.4f ± %.4f", longest, name, got[name]/used, p, bound)
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
			shell, unobserved, rest := &Process{}, int64(0), int64(0)
			var booked [phases]int64
			book := func(s Span) {
				if s.Leaf == "" {
					booked[s.Stack] += s.CPU
				} else {
					rest += s.CPU
				}
			}
			for range n {
				kid, th := &Process{}, &Thread{CreatedAt: 1}
				opened := ticks > 2.5
				for age := rng.Int64N(period); age < life; age += period {
					seen := Seen{Stack: sample.StackID(age * phases / life), State: sample.Running, Stop: frames.StopRoot}
					l := Sample{At: sample.Reading{Wall: 1 + age, CPU: age}, Seen: seen, OnCPU: true, Apart: period}
					switch {
					case !opened:
						seen.Program = "cc1"
						shell.ClaimOfChild(seen, age, period)
						continue
					case !th.Begun():
						th.Begin(l.At)
					}
					th.Add(&l, nil, book)
				}
				if !opened {
					unobserved += life
					continue
				}
				kid.EndThread(th, &End{}, book)
				kid.FinishThread(th, nil, book)
				if unseen := kid.Unseen(life); !kid.PassTo(shell, unseen, period, "cc1") {
					kid.Exited(unseen, life, book)
				}
			}
			shell.Children(unobserved, life, book)
			total := rest
			for _, ns := range booked {
				total += ns
			}
			if total != int64(n)*life {
				t.Errorf("%d ns in all, want %d", total, int64(n)*life)
			}
			independent := float64(min(n, samples))
			limit := 6 * math.Sqrt(0.25*0.75/independent)
			for i, ns := range booked {
				if share := float64(ns) / float64(total-rest); math.Abs(share-0.25) > limit {
					t.Errorf("phase %d has %.4f, want 0.25 within %.4f", i, share, limit)
				}
			}
			if share := float64(rest) / float64(total); share > 6/math.Sqrt(independent) {
				t.Errorf("%.4f have no function", share)
			}
		})
	}
}

func TestSamplesThatSkidArePooled(t *testing.T) {
	shell, b := &Process{}, &spans{under: map[sample.StackID]int64{}}
	for range 4 {
		shell.ClaimOfChild(ranIn(1), 5e9, 10)
	}
	kid := &Process{threads: threadPool{skidded: skidded{count: 6, ns: 60}}}
	if !kid.PassTo(shell, 60, 10, "ls") || kid.threads.skidded.ns != 0 {
		t.Fatalf("%+v", kid)
	}
	other := &Process{}
	shell.PassChildrenTo(other, 40)
	shell.Children(0, 9e9, b.add)
	if b.sum() != 0 {
		t.Errorf("%v is booked twice", b)
	}
	if other.Children(0, 9e9, b.add); b.under[1] != 100 || b.rest != 0 {
		t.Errorf("%v", b)
	}
}

// Two in five samples are missed, but none of exiting children. Bound: six standard errors.
func TestMissedSamplesAreWhereOthersWereFound(t *testing.T) {
	const n, period = 20000, 10
	for _, counted := range []bool{false, true} {
		random := rand.New(rand.NewPCG(13, 17))
		p, under := &Process{}, map[string]int64{}
		for i := range n {
			where := Seen{State: sample.Running, Program: "ls"}
			switch x := random.Float64(); {
			case x < 0.1:
				where.Stack, where.Found = 3, FoundInExit
			case random.Float64() < 0.4:
				where.Found = FoundMissed
			case x < 0.15:
				where.Stack, where.Found = 3, FoundInExec
			default:
				where.Stack = sample.StackID(1)
				if x > 0.75 {
					where.Stack = 2
				}
			}
			p.ClaimOfChild(where, int64(i)*1e6, period)
		}
		p.ClaimOfChild(Seen{State: sample.Running, Program: "cat", Found: FoundMissed}, 1e9, period)
		sum := int64(n * period)
		if counted {
			sum = n * period * 3
			p.ChildCounted("ls", sum, true, true)
			p.ChildCounted("cat", period, true, true)
		}
		p.Children(sum+period, 99e9, func(s Span) {
			if under[fmt.Sprint(s.Program, s.Stack, s.Leaf)] += s.CPU; s.Program == "cat" && s.End < 1e9 {
				t.Errorf("counted: %v: a missed look is booked before it was", counted)
			}
		})
		for where, share := range map[string]float64{"ls1": 0.6, "ls2": 0.25, "ls3": 0.15} {
			bound := 6 * math.Sqrt(share*(1-share)/(0.6*n))
			if got := float64(under[where]) / float64(sum); math.Abs(got-share) > bound {
				t.Errorf("counted: %v: %s has %.4f of it, not %v", counted, where, got, share)
			}
			delete(under, where)
		}
		lost := under["cat0"+ShortLivedChildren] - period
		if delete(under, "cat0"+ShortLivedChildren); lost < -1 || lost > 20 {
			t.Errorf("counted: %v: %d ns too much without looks", counted, lost)
		}
		for where, ns := range under {
			if ns > n/100 {
				t.Errorf("counted: %v: %d ns under %q", counted, ns, where)
			}
		}
	}
}
