// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"prywalk/frames"
)

func until(t *testing.T, name string, enough func(*asleep, *same) bool) (a *asleep, s *same) {
	t.Helper()
	r, err := start(name, 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	for d := 500 * time.Millisecond; d < time.Minute; d *= 2 {
		if a, err = watch(context.Background(), r, d); err != nil {
			t.Fatal(err)
		}
		if s, err = compare(context.Background(), r, d); err != nil {
			t.Fatal(err)
		}
		for _, text := range s.differ {
			t.Errorf("not the same stack: %s", text)
		}
		if enough(a, s) {
			return a, s
		}
	}
	t.Fatalf("too few looks: %+v, %+v", a, s)
	return a, s
}

func TestPassivelyReadStacksAreThoseOfAStopInTheSameSleep(t *testing.T) {
	a, s := until(t, "c-O0", func(a *asleep, s *same) bool { return a.reads > 10 && s.sleeps >= 5 && s.again > 0 })
	if a.whole != a.reads || s.short != 0 || a.stopped != 0 {
		t.Errorf("%d of %d passive reads complete, %d short, %d stopped: %v", a.whole, a.reads, s.short, a.stopped, a.where)
	}
}

func TestPassivelyReadStacksBelowVariableArraysAreThoseOfAStop(t *testing.T) {
	a, s := until(t, "arrays-O0", func(a *asleep, s *same) bool { return a.reads > 50 && a.proven > 0 && s.sleeps >= 20 })
	if a.wholeStopped != a.stopped {
		t.Errorf("%d of %d stops complete", a.wholeStopped, a.stopped)
	}
	for reason := range a.reasons {
		if reason != frames.StopUnproven.String() {
			t.Error(a.where)
		}
	}
	if s.equal == 0 {
		t.Errorf("%+v", s)
	}
}

func TestTablesCountPassiveReads(t *testing.T) {
	r := result{name: "x", asleep: &asleep{reads: 4, whole: 3, reasons: map[string]int64{"unproven": 1}},
		same: &same{sleeps: 2, equal: 2}}
	text := tables([]result{r}, time.Second)
	if !strings.Contains(text, "3 = 75.00 %") || !strings.Contains(text, "unproven 1") {
		t.Errorf("%s", text)
	}
}

func TestShortAndDifferentStacksAreDistinguished(t *testing.T) {
	full := chain{pcs: []frames.Addr{1, 2, 3}, sps: []frames.Addr{10, 20, 30}, stop: frames.StopRoot}
	short := chain{pcs: full.pcs[:2], sps: full.sps[:2], stop: frames.StopUnproven}
	other := chain{pcs: []frames.Addr{1, 2, 3}, sps: []frames.Addr{10, 20, 31}, stop: frames.StopRoot}
	ps := newProcesses()
	defer ps.close()
	for _, c := range []struct {
		passive              *chain
		equal, short, differ int
	}{{&full, 1, 0, 0}, {&short, 0, 1, 0}, {&other, 0, 0, 1}} {
		p := &pair{same: &same{where: map[string]int64{}}, ps: ps}
		p.judge(&thread{proc: ownProcess(t)}, c.passive, &full, nil)
		if int(p.equal) != c.equal || int(p.short) != c.short || len(p.differ) != c.differ {
			t.Errorf("%+v: %+v", c, p.same)
		}
	}
}

func ownProcess(t *testing.T) *process {
	t.Helper()
	ps := newProcesses()
	t.Cleanup(ps.close)
	p, err := ps.cache.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return &process{Process: p}
}
