package bench

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestAPeerIsComparedOnTheSameTargetAtTheSameRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	own, after := 0.02, 0.01
	row := func(peer string, freq, middle float64) Row {
		return Row{Threads: 20, Running: 1, Freq: freq, Peer: peer, Ratio: middle, Ratios: noisy(rng, middle, 40), CPUSelf: &own, CPUAfter: &after}
	}
	rows := []Row{row("", 100, 0.99), row("", 1000, 0.95), row("gdb", 100, 0.4), row("perf", 1000, 0.99), row("same", 100, 0.99), row("other", 50, 0.9)}
	got := besides(rows)
	if len(got) != 3 {
		t.Fatalf("%d comparisons", len(got))
	}
	for i, want := range []string{"ahead", "behind", "level"} {
		if v := got[i].verdict(); v != want {
			t.Errorf("%s: %s, not %s (%.4f to %.4f)", got[i].Peer.Peer, v, want, got[i].Low, got[i].High)
		}
	}
	var b strings.Builder
	beside(&b, rows)
	if s := b.String(); strings.Count(s, "| 3.00 %, 3.00 % |") != 3 {
		t.Error(s)
	}
}
