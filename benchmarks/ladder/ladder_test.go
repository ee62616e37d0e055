// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOnlyRunningThreadsAreStoppedAndOnceATickAtMost(t *testing.T) {
	const threads, running, freq = 42, 2, 100
	s := &settings{Rounds: 1, Window: 300 * time.Millisecond}
	b, err := newBench(s)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var r stopsRound
	for {
		row, err := b.stops(t.Context(), threads, running, freq, 1)
		if err != nil {
			t.Fatal(err)
		}
		r = row.rounds[0]
		if r.did.Stopped > 0 && r.did.ReadPassively+r.did.Unchanged >= threads-running || s.Window > 30*time.Second {
			break
		}
		s.Window *= 4
	}
	if most := r.did.Ticks * running; r.did.Stopped < 1 || r.did.Stopped > most {
		t.Errorf("prywalk tells of %d stops in %d ticks with %d running threads", r.did.Stopped, r.did.Ticks, running)
	}
	if most := 1.05*running*freq*r.whole.seconds + 3*running; float64(r.whole.runners.Voluntary) > most {
		t.Errorf("the kernel counted %d stops in %.2f s, which is more than %.0f", r.whole.runners.Voluntary, r.whole.seconds,
			most)
	}
	if r.did.Ticks > int64(freq*r.whole.seconds)+3 {
		t.Errorf("%d ticks in %.2f s at %d Hz", r.did.Ticks, r.whole.seconds, freq)
	}
	if n := r.sleepersSwitched(); n != 0 {
		t.Errorf("%d sleeping threads left a processor %d times while they were looked at", threads-running, n)
	}
	if looks := r.did.ReadPassively + r.did.Unchanged; looks < threads-running {
		t.Errorf("%d looks at %d sleeping threads", looks, threads-running)
	}
}

func TestContextSwitchesAreReadFromStatus(t *testing.T) {
	text := "Name:\tvoluntary_ctxt_switches: 9\nState:\tS " +
		"(sleeping)\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"
	if s, err := parseSwitches(text); err != nil || s != (switches{150, 545}) {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, bad := range []string{"", "voluntary_ctxt_switches:\t1\n",
		"voluntary_ctxt_switches:\tx\nnonvoluntary_ctxt_switches:\t2\n"} {
		if s, err := parseSwitches(bad); err == nil {
			t.Errorf("%q gave %+v", bad, s)
		}
	}
}

func TestSystemCallsAreReadFromPerf(t *testing.T) {
	text := "# started on Fri Nov 20\n\n4711,,raw_syscalls:sys_enter,1001234567,100.00,,\n"
	if n, err := parseCount(text); n != 4711 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for _, bad := range []string{"", "<not supported>,,raw_syscalls:sys_enter,0,100.00,,\n",
		"event syntax error: 'raw_syscalls:sys_enter'\n"} {
		if n, err := parseCount(bad); err == nil {
			t.Errorf("%q gave %d", bad, n)
		}
	}
}

func TestGapsInWhichTheTargetWasStoppedAreReported(t *testing.T) {
	const entries = 8
	ring := make([]uint64, 4*entries)
	put := func(i, length, voluntary, preempted uint64) {
		copy(ring[4*(i%entries):], []uint64{0, length, voluntary, preempted})
	}
	put(5, 99000, 3, 7)
	put(6, 20000, 4, 7)
	put(7, 8000, 4, 7)
	put(8, 30500, 5, 8)
	got := gapsBetween(ring, 5, 9)
	if want := []gap{{20, true, false}, {8, false, false}, {30.5, true, true}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, c := range []struct {
		kind func(gap) bool
		want []float64
	}{{stopped, []float64{20, 30.5}}, {stoppedOnly, []float64{20}}, {notStopped, []float64{8}}} {
		if got := lengths(got, c.kind); !slices.Equal(got, c.want) {
			t.Errorf("of one kind there are %v, not %v", got, c.want)
		}
	}
	if got := gapsBetween(ring, 0, 9); len(got) != entries/2-1 {
		t.Errorf("%d gaps of a ring that has gone round", len(got))
	}
	if got := gapsBetween(ring, 5, 5); len(got) != 0 {
		t.Errorf("%v between nothing", got)
	}
}

func TestFiguresAreMediansWithTheirSpread(t *testing.T) {
	if got := spread([]float64{3, 1, 2}, "%.1f"); got != "2.0 (1.0 to 3.0)" {
		t.Error(got)
	}
	if got := interval([]float64{5, 5}, "%.0f"); got != "5 (5 to 5)" {
		t.Error(got)
	}
	if got := ratios([]float64{6, 4, 1, 0}, []float64{3, 0, 2, 5}); !slices.Equal(got, []float64{2, 0.5}) {
		t.Error(got)
	}
	r := stopsRound{bare: span{seconds: 2, runners: switches{4, 10}},
		steady: span{seconds: 4, runners: switches{808, 100}},
		whole:  span{runners: switches{1000, 0}, sleepers: switches{1, 2}}, did: &outcome{Stopped: 990, DurationS: 5}}
	if r.stoppedPerS() != 200 || r.preemptedPerS() != 20 || r.stopsPerS() != 198 || r.uncounted() != 10 ||
		r.sleepersSwitched() != 3 {
		t.Error(r.stoppedPerS(), r.preemptedPerS(), r.stopsPerS(), r.uncounted(), r.sleepersSwitched())
	}
}

func TestAPartReplacesItsOwnTextOnly(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const begin, end = "before\n<!-- " + sectionName + ": begin -->", "<!-- " + sectionName + ": end -->\nafter\n"
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(i int, text string) {
		title := parts[i].title
		if err := putPart(page, title, "### "+title+"\n\n"+text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	write(begin + "\n" + end)
	put(2, "old")
	put(0, "first")
	put(2, "new")
	got, _ := os.ReadFile(page)
	want := begin + "\n\n### " + parts[0].title + "\n\nfirst\n\n### " + parts[2].title + "\n\nnew\n\n" + end
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	write("no markers")
	if err := putPart(page, parts[0].title, "text"); err == nil || !strings.Contains(err.Error(), sectionName) {
		t.Errorf("without markers: %v", err)
	}
}

func TestTheCommandLineIsChecked(t *testing.T) {
	s, err := parse([]string{"-only", "stops,lengths", "-threads", "2,30", "-rounds", "3"})
	if err != nil || !slices.Equal(s.Parts, []string{"stops", "lengths"}) || !slices.Equal(s.Threads, []int{2, 30}) ||
		s.Rounds != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"-only=none", "-threads=x", "-rounds=0", "-window=-1s", "more"} {
		if _, err := parse([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
