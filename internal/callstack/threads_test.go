package callstack

import (
	"testing"

	"prywalk/internal/managed"
)

// naming knows the names of some threads.
type naming struct {
	managed.Namer
	names map[int]string
}

func (n naming) ThreadName(tid int) (string, bool) {
	name, ok := n.names[tid]
	return name, ok
}

func TestThreadsHaveTheNameOfTheFirstWhoKnowsOne(t *testing.T) {
	namers := []managed.Namer{struct{ managed.Namer }{}, naming{names: map[int]string{1: "", 2: "two"}},
		naming{names: map[int]string{1: "one", 2: "zwei"}}}
	for tid, want := range map[int]string{1: "one", 2: "two", 3: ""} {
		if got, ok := ThreadName(namers, tid); got != want || ok != (want != "") {
			t.Errorf("%d: %q, %v", tid, got, ok)
		}
	}
}
