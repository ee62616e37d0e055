package sampler

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/look"
)

// slackOf gives a thread's timer slack in nanoseconds; 0 for a thread with a real-time
// priority, which has none.
func slackOf(t *testing.T, tid string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + tid + "/timerslack_ns")
	if err != nil {
		return -1 // it has ended, or is not ours to ask
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTimersOfAllThreadsButTheTracersAreRelaxed(t *testing.T) {
	if unix.Geteuid() != 0 {
		t.Skip("it takes CAP_SYS_NICE; run the tests as root")
	}
	look.OnThread(func() {
		self := unix.Gettid()
		was := slackOf(t, strconv.Itoa(self))
		others, _ := os.ReadDir("/proc/self/task")
		relaxTimers(self)
		if now := slackOf(t, strconv.Itoa(self)); now != was {
			t.Errorf("the tracer's slack was %d ns and is %d", was, now)
		}
		for _, task := range others {
			if task.Name() == strconv.Itoa(self) {
				continue
			}
			if n := slackOf(t, task.Name()); n != timerSlack && n > 0 {
				t.Errorf("thread %s: %d ns", task.Name(), n)
			}
		}
	})
}

func TestLooksAreHandedOverTogetherAndChangesAtOnce(t *testing.T) {
	known := &thread{met: 1}
	const now = 10e9
	look := event{kind: looked, thread: known}
	for _, c := range []struct {
		what   string
		passed int64
		events batch
		due    bool
	}{
		{"one look just after the last", now - 10e6, batch{look}, false},
		{"one look that waits for long", now - passAfter, batch{look}, true},
		{"many looks", now - 10e6, make(batch, passShots), true},
		{"a new thread", now - 10e6, batch{look, {kind: looked, thread: &thread{met: now - 5e6}}}, true},
		{"a thread that ended", now - 10e6, batch{{kind: ended, thread: known}}, true},
		{"a new process", now - 10e6, batch{{kind: admitted}}, true},
	} {
		for i := range c.events {
			if c.events[i].thread == nil && c.events[i].kind == looked {
				c.events[i].thread = known
			}
		}
		ctl := &controller{out: c.events, passed: c.passed}
		if got := ctl.passDue(now); got != c.due {
			t.Errorf("%s: due %v", c.what, got)
		}
	}
}
