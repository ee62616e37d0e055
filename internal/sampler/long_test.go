package sampler

import (
	"maps"
	"testing"

	"prywalk/internal/look"
	"prywalk/ptrace"
)

// TestLongFreezesAreCountedByCause: none that is short, whatever its cause was.
func TestLongFreezesAreCountedByCause(t *testing.T) {
	var c counts
	for _, s := range []look.Shot{
		{Stopped: look.LongFreeze, Why: ptrace.CauseLock}, {Stopped: look.LongFreeze + 1, Why: ptrace.CauseLock},
		{Stopped: 9e6, Why: ptrace.CauseCopy}, {Stopped: 5e6, Why: ptrace.CauseCopy},
	} {
		c.froze(&s)
	}
	want := map[string]LongFreezes{"lock": {1, look.LongFreeze + 1}, "copy": {2, 9e6}}
	if got := c.longFreezes(); !maps.Equal(got, want) || c.freezes.n != 4 {
		t.Errorf("%v of %d, want %v", got, c.freezes.n, want)
	}
}
