package tools

import (
	"strings"
	"testing"
)

func TestStacksOfPerfScriptAreCounted(t *testing.T) {
	const text = ` 2780 
	ffffffff821f39e5 irqentry_exit_to_user_mode
	          238147 prywalk/internal/bench/load.mix

 2781 
	          238147 mix
	           91147 clone3@@GLIBC_2.34

 2781 
	          238147 mix
	           91147 runtime.goexit.abi0
`
	if samples, complete := countStacks(strings.NewReader(text)); samples != 3 || complete != 2 {
		t.Errorf("%d stacks, %d complete", samples, complete)
	}
	if samples, _ := countStacks(strings.NewReader("\n\n")); samples != 0 {
		t.Errorf("%d stacks of nothing", samples)
	}
}

func TestFoldedStacksAreAddedUp(t *testing.T) {
	if n := sumOfCounts([]byte("main (a.py:1);work (a.py:2) 12\n\nmain 3\nno count\n")); n != 15 {
		t.Error(n)
	}
}

func TestLinesAreCountedByTheirBeginning(t *testing.T) {
	if n := countLines([]byte("Thread 1 (a)\n#0 x\nThread 2 (b)\n Thread 3"), "Thread "); n != 2 {
		t.Error(n)
	}
}

// TestToolsKnowWhatTheyAreFor: every kind of process has prywalk and a peer.
func TestToolsKnowWhatTheyAreFor(t *testing.T) {
	own := Prywalk()
	for _, kind := range []string{Native, Python, JVM} {
		n := 0
		for _, p := range Peers() {
			if p.Name == "" {
				t.Error("a peer without a name")
			}
			if p.For(kind) {
				n++
			}
		}
		if n == 0 || !own.For(kind) {
			t.Errorf("%s: %d peers", kind, n)
		}
	}
}
