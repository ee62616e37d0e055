// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

type contention struct {
	p     *profile.Profile
	funcs map[string]*profile.Location
}

func newContention() *contention {
	p := &profile.Profile{Period: 10e6, PeriodType: &profile.ValueType{Type: rec.TypeCPU, Unit: "nanoseconds"},
		TimeNanos: 1, DurationNanos: 10e9}
	for _, t := range []string{rec.TypeSamples, rec.TypeWall, rec.TypeRunQueue, rec.TypeCPU} {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: t, Unit: map[bool]string{true: "count",
			false: "nanoseconds"}[t == rec.TypeSamples]})
	}
	return &contention{p, map[string]*profile.Location{}}
}

func (c *contention) add(tid int64, function string, from, to int64, lock string, owner int64) {
	l := c.funcs[function]
	if l == nil {
		l = synthetic(c.p, function)
		c.funcs[function] = l
	}
	s := &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1, to - from, 0, 0},
		Label:    map[string][]string{rec.LabelComm: {"prog"}},
		NumLabel: map[string][]int64{rec.LabelPID: {1}, rec.LabelTID: {tid}, rec.LabelEnd: {1e15 + to}}}
	if lock == "" {
		s.Value[3] = to - from
		s.Label[rec.LabelState] = []string{"running"}
	} else {
		s.Label[rec.LabelState], s.Label[rec.LabelWait], s.Label[rec.LabelWaitsFor] = []string{"sleeping"}, []string{"futex"},
			[]string{lock}
	}
	switch {
	case owner < 0:
		s.Label[rec.LabelOwner] = []string{rec.OwnerText(int(owner))}
	case owner != 0:
		s.NumLabel[rec.LabelOwner] = []int64{owner}
	}
	c.p.Sample = append(c.p.Sample, s)
}

// The launcher of a JVM joins its main thread for as long as the program runs.
func TestIdleWaitsAreNotBlamed(t *testing.T) {
	c := newContention()
	c.add(1, "CallJavaMainInNewThread", 0, 10e9, "join thread 2", 2)
	l := c.funcs["CallJavaMainInNewThread"]
	l.Mapping = &profile.Mapping{ID: 1, File: "/jvm/lib/libjli.so"}
	c.add(2, "main", 0, 10e9, "", 0)
	c.add(3, "worker", 0, 20e6, "mutex a", 2)
	p, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := blamed(p); len(got) != 1 || got["mutex a main"] != 20e6 {
		t.Errorf("%v, want 20 ms of main", got)
	}
}

func blamed(p *profile.Profile) map[string]int64 {
	out := map[string]int64{}
	for _, s := range p.Sample {
		out[view.Label(s, rec.LabelWaitsFor)+" "+s.Location[0].Line[0].Function.Name] += s.Value[0]
	}
	return out
}

func TestBlameFollowsTheOwner(t *testing.T) {
	const ms = int64(1e6)
	c := newContention()
	c.add(10, "flush", 0, 300*ms, "", 0)
	c.add(10, "write", 300*ms, 500*ms, "", 0)
	c.add(10, "other work", 500*ms, 1000*ms, "", 0)
	c.add(11, "lock", 0, 500*ms, "mutex cache_mu", 10)
	c.add(11, "compact", 500*ms, 1000*ms, "", 0)
	c.add(12, "lock", 100*ms, 1000*ms, "mutex cache_mu", 10)
	c.add(13, "lock", 500*ms, 600*ms, "mutex cache_mu", 11)
	c.add(14, "lock", 900*ms, 910*ms, "mutex log_mu", 0)
	c.add(15, "wait", 0, 1000*ms, "condition cond", 0)
	c.p.TimeNanos = 1e15
	out, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h := heldOf(out.Sample[0]); h == nil || *h != (held{2, 500 * ms, 500 * ms, 0, 10}) {
		t.Errorf("held: %+v, want 2 times for 500 ms, first by thread 10", h)
	}
	want := map[string]int64{
		"mutex cache_mu flush": 500 * ms, "mutex cache_mu write": 400 * ms, "mutex cache_mu compact": 600 * ms,
		"mutex log_mu " + ownerUnknown: 10 * ms,
	}
	got := blamed(out)
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %d ms, want %d", k, got[k]/ms, v/ms)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	text := render(t, Table, out, Options{By: "lock"})
	if !strings.Contains(text, "mutex cache_mu") || !strings.Contains(text, "flush") {
		t.Errorf("%s", text)
	}
}

func TestALockThatWasFreeHasNoOwner(t *testing.T) {
	const ms = int64(1e6)
	c := newContention()
	c.add(10, "flush", 0, 1000*ms, "", 0)
	c.add(11, "lock", 0, 15*ms, "mutex a", rec.NoOwner)
	c.add(12, "lock", 100*ms, 500*ms, "mutex b", rec.NoOwner)
	c.add(13, "lock", 105*ms, 125*ms, "mutex b", 10)
	c.add(14, "lock", 100*ms, 500*ms, "mutex c", rec.NoOwner)
	c.add(15, "lock", 0, 15*ms, "mutex d", rec.ParentOwner)
	c.add(16, "lock", 100*ms, 500*ms, "mutex d", rec.ParentOwner)
	out, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"mutex a " + ownerNone: 15 * ms, "mutex b " + ownerNone: 5 * ms, "mutex b flush": (395 + 20) * ms,
		"mutex c " + ownerNone: 10 * ms, "mutex c " + ownerUnknown: 390 * ms,
		"mutex d " + ownerParent: 415 * ms,
	}
	if got := blamed(out); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheOwnerAfterManyLaterWaitsKeepsTheRest(t *testing.T) {
	const ms, end = int64(1e6), 2 * maxLaterWaits
	c := newContention()
	c.add(1, "f", 0, end*ms, "", 0)
	c.add(2, "g", 0, end*ms, "", 0)
	c.add(3, "lock", 0, end*ms, "mutex a", 1)
	for i := int64(1); i < end; i++ { // of 1 ns each
		c.add(4, "lock", i*ms, i*ms+1, "mutex a", 1+i%2)
	}
	out, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := blamed(out)
	f, g := got["mutex a f"]/ms, got["mutex a g"]/ms
	if want := int64(maxLaterWaits / 2); g != want || f != end-want {
		t.Errorf("%d ms and %d ms, want %d and %d", f, g, end-want, want)
	}
}

func TestBlameAddsUp(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c := newContention()
		want := map[string]int64{}
		locks := []string{"", "mutex a", "rwlock b", "join"}
		for tid := int64(1); tid < 6; tid++ {
			at := rng.Int64N(50e6)
			for range rng.IntN(30) {
				from := at + rng.Int64N(2)*rng.Int64N(30e6)
				at = from + 1 + rng.Int64N(200e6)
				lock := locks[rng.IntN(len(locks))]
				c.add(tid, []string{"f", "g", "h"}[rng.IntN(3)], from, at, lock, rng.Int64N(8)-1)
				if lock != "" {
					want[lock] += at - from
				}
			}
		}
		if rng.IntN(4) == 0 {
			for _, s := range c.p.Sample {
				delete(s.NumLabel, rec.LabelEnd)
			}
		}
		out, err := Blame(c.p, &Options{})
		if len(want) == 0 {
			if !errors.Is(err, ErrNoLocks) {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, s := range out.Sample {
			if s.Value[0] < 0 {
				t.Fatalf("seed %d: %v", seed, s.Value)
			}
			got[view.Label(s, rec.LabelWaitsFor)] += s.Value[0]
		}
		for lock, v := range want {
			if got[lock] != v {
				t.Fatalf("seed %d: %s: %d, want %d", seed, lock, got[lock], v)
			}
		}
	}
}

func TestGroupsOfWaitsAddUp(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := newContention()
		var total int64
		for tid := int64(1); tid < 6; tid++ {
			at := int64(0)
			for range 1 + rng.IntN(30) {
				from := at
				at += 1 + rng.Int64N(200e6)
				lock := []string{"", "mutex a", "rwlock b", "condition c", "pipe:[7]"}[rng.IntN(5)]
				c.add(tid, "f", from, at, lock, rng.Int64N(8)-1)
				if lock != "" {
					total += at - from
				}
			}
		}
		blame := map[string]int64{}
		if out, err := Blame(c.p, &Options{}); err == nil {
			for _, s := range out.Sample {
				blame[view.Label(s, rec.LabelWaitsFor)] += s.Value[0]
			}
		}
		for _, by := range []string{"wait", "lock"} {
			d, err := prepare(c.p, Options{By: by, Value: view.TypeBlocked})
			if err != nil {
				t.Fatal(err)
			}
			var sum int64
			for _, g := range d.Groups(d.Options.By) {
				sum += g.Value
				if blamed, ok := blame[g.Name]; by == "lock" && ok && blamed != g.Value {
					t.Errorf("seed %d: %s: %d of blocked, %d blamed", seed, g.Name, g.Value, blamed)
				}
			}
			if all, _ := d.Clocks(c.p.Sample); sum != total || all.Blocked != total {
				t.Errorf("seed %d, by %s: %d in groups, %d in the header, want %d", seed, by, sum, all.Blocked, total)
			}
		}
	}
}

func TestWaitsAreGroupedByWhatTheyAreFor(t *testing.T) {
	c := newContention()
	c.add(10, "flush", 0, 1e9, "mutex cache_mu", 11)
	c.add(11, "read", 0, 3e9, "socket:[12]", 0)
	c.add(12, "loop", 0, 5e9, "eventpoll", 0)
	for i, wait := range []string{"futex", "read", "epoll_wait"} {
		c.p.Sample[i].Label[rec.LabelWait] = []string{wait}
	}
	text := render(t, Table, c.p, Options{By: "wait"})
	last := -1
	for _, want := range []string{"blocked 9.0", "(idle: 5.0", "read: socket",
		"futex: mutex cache_mu", "epoll_wait: eventpoll [idle: event-loop]"} {
		at := strings.Index(text, want)
		if at <= last {
			t.Errorf("%q is missing, or not in its place, in\n%s", want, text)
		}
		last = at
	}
	if text = render(t, Table, c.p, Options{By: "wait", NoIdle: true}); strings.Contains(text, "idle") {
		t.Errorf("the rules are off:\n%s", text)
	}
}

func TestWaitsOfOneCauseAreOneGroup(t *testing.T) {
	c := newContention()
	for i, w := range []struct{ function, call, what string }{
		{"ask", "recvfrom", "socket:[12] 127.0.0.1:8011"}, {"ask", "recvfrom", "socket:[13] 127.0.0.1:8011"},
		{"ask", "recvfrom", "socket:[14] 127.0.0.1:8012"}, {"ask", "recvfrom", "socket:[15]"},
		{"join_results", "futex", "condition 0x7f0000000010"}, {"join_results", "futex", "condition 0x7f0000000050"},
		{"flush", "futex", "condition 0x7f0000000090"},
		{"flush", "futex", "mutex 0x7f00000000a0"}, {"flush", "futex", "mutex 0x7f00000000b0"},
		{"flush", "futex", "mutex"}, {"flush", "futex", "mutex"}, {"ask", "futex", "mutex"}, {"ask", "futex", "park"},
	} {
		c.add(int64(10+i), w.function, 0, 1e9, w.what, 0)
		c.p.Sample[i].Label[rec.LabelWait] = []string{w.call}
	}
	text := render(t, Table, c.p, Options{By: "wait", N: -1})
	for _, want := range []string{
		"recvfrom: 127.0.0.1:8011 (2 threads)", "recvfrom: 127.0.0.1:8012 (1 thread)", "recvfrom: socket (1 thread)",
		"futex: condition in join_results (2 threads)", "futex: condition in flush (1 thread)",
		"futex: mutex 0x7f00000000a0 (1 thread)", "futex: mutex 0x7f00000000b0 (1 thread)",
		"futex: mutex in flush (2 threads)", "futex: mutex in ask (1 thread)", "futex: park (1 thread)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestBlameWithoutOwnersSaysWhatWaits(t *testing.T) {
	r := newContention()
	r.add(10, "run", 0, 1e6, "", 0)
	_, err := Blame(r.p, &Options{File: "x.pb.gz"})
	const want = "; prywalk report --by wait x.pb.gz shows what threads waited for"
	if !errors.Is(err, ErrNoLocks) || err.Error() != ErrNoLocks.Error()+want {
		t.Error(err)
	}
}

func TestGroupsOfLocksNameTheOwner(t *testing.T) {
	const ms = int64(1e6)
	c := newContention()
	c.add(10, "flush", 0, 500*ms, "", 0)
	c.add(11, "update", 0, 500*ms, "mutex cache_mu", 10)
	for i, s := range c.p.Sample {
		s.Label[rec.LabelThread] = []string{[]string{"writer", "reader"}[i]}
		kernel := synthetic(c.p, "futex_do_wait")
		kernel.Mapping = &profile.Mapping{ID: 1, File: "[kernel]"}
		s.Location = append([]*profile.Location{kernel}, s.Location...)
	}
	blame, err := Blame(c.p, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"flush":  render(t, Table, blame, Options{By: "lock"}),
		"update": render(t, Table, c.p, Options{By: "lock", Value: "blocked"}),
	} {
		_, table, _ := strings.Cut(text, "mutex cache_mu, held by writer (tid 10)")
		table, _, _ = strings.Cut(table, "[no lock]")
		if !strings.Contains(table, name) || strings.Contains(table, "futex_do_wait") {
			t.Errorf("%s is missing, or the kernel is shown, in\n%s", name, text)
		}
	}
}

func TestFunctionsOfThreadsThatOnlyWaitAreShownIfAskedFor(t *testing.T) {
	c := newContention()
	c.add(10, "spin", 0, 1e6, "", 0)
	c.add(11, "lock", 0, 5e8, "mutex a", 0)
	for name, o := range map[string]Options{"value": {Value: "cpu"}, "full": {Full: true}, "sort": {Sort: "self"}} {
		if text := render(t, Table, c.p, o); !strings.Contains(text, "self%") || strings.Contains(text, "these are the") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestSuggestedCommandsNameTheFile(t *testing.T) {
	c := newContention()
	c.add(11, "lock", 0, 5e8, "mutex a", 0)
	for file, want := range map[string]string{
		"":        "prywalk report --by wait shows all, --value cpu functions.\n",
		"x.pb.gz": "prywalk report --by wait x.pb.gz shows all, --value cpu functions.\n",
	} {
		want = "\n\nAlmost no CPU time, so these are the waits: " + want
		if text := render(t, Table, c.p, Options{File: file}); !strings.HasSuffix(text, want) ||
			strings.Contains(text, "self%") || !strings.Contains(text, "futex: mutex a (1 thread)") {
			t.Errorf("%q:\n%s", file, text)
		}
	}
}
