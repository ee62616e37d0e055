// SPDX-License-Identifier: Apache-2.0

package perfevents

import "testing"

func TestCopiesAreAsLongAsWalksNeed(t *testing.T) {
	const short = 14 << 10
	fit := func(n int) int {
		if n <= short {
			return short
		}
		return 0
	}
	heap := &Record{Stack: make([]byte, 64), Asked: 64}
	ended := &Record{Stack: make([]byte, 32), Asked: 64}
	for _, c := range []struct {
		name    string
		samples int
		rec     *Record
		deepest int64
		want    int
	}{
		{"goroutines", 300, heap, 5 << 10, short},
		{"goroutines, too few samples", 200, heap, 5 << 10, 0},
		{"goroutines, deep", 300, heap, 9 << 10, 0},
		{"goroutines, cut", 300, heap, 1 << 40, 0},
		{"stacks that end before the copy's end", 300, ended, 5 << 10, 0},
		{"no walk yet", 300, heap, 0, 0},
	} {
		var l StackLength
		now := int64(1e9)
		if got := l.decide(now, 0, fit); got != 0 {
			t.Errorf("%s: first decision %d bytes, want no change", c.name, got)
		}
		for range c.samples {
			l.CountSample(c.rec)
		}
		l.Deepest = c.deepest
		if got := l.decide(now+fitAfter/2, 0, fit); got != 0 {
			t.Errorf("%s: %d bytes before fitAfter, want no change", c.name, got)
		}
		if got := l.decide(now+fitAfter, 0, fit); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
	var l StackLength
	now := int64(1e9)
	l.decide(now, 0, fit)
	for after := int64(fitAfter); after < 8*maxFitAfter; after *= 2 {
		for range fitSamples {
			l.CountSample(heap)
		}
		l.Deepest = 100
		wait := min(after, maxFitAfter)
		if got := l.decide(now+wait-1, 0, fit); got != 0 {
			t.Fatalf("shorter copies after less than %d ns", wait)
		}
		if now += wait; l.decide(now, 0, fit) != short {
			t.Fatalf("no shorter copies after %d ns", wait)
		}
		if l.Deepest = short * 3 / 4; l.decide(now, short, fit) != short {
			t.Fatal("longer copies though walks need three quarters of the short ones")
		}
		if l.Deepest = short; l.decide(now, short, fit) != 0 {
			t.Fatal("no longer copies though a walk needed a whole one")
		}
	}
}
