// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"testing"

	"prywalk/internal/osthread"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// A vfork parent does not stop until its child ends.
func TestThreadThatDoesNotStopInTimeIsReportedWithoutARawSample(t *testing.T) {
	for name, afterWait := range map[string]bool{"while it is asked to stop": false, "after the last wait": true} {
		pid, _ := testtargets.Threads(t, "vforks") // its own: the thread stays attached until the tracer's has ended
		th := NewThread(pid, pid, nil)
		pool := NewPool(4)
		osthread.Run(func() {
			ctl := ptrace.NewController(ptrace.Options{})
			defer ctl.Close()
			calls := 0
			s := newStopAll(ctl, pool, func(_ *Thread, raw *RawSample, err error) {
				calls++
				if raw != nil || !errors.Is(err, ptrace.ErrTimeout) {
					t.Errorf("%s: raw sample %v, error %v, want none and a time-out", name, raw != nil, err)
				}
			})
			h := &heldThread{thread: th}
			s.threads = append(s.threads, h)
			s.requestStop(h, 1)
			if h.state != heldPending {
				t.Errorf("%s: state %d of a vfork parent, want pending", name, h.state)
				return
			}
			s.waitUntil = 0
			if afterWait {
				s.wait()
			}
			s.finishAll()
			if calls != 1 || pool.BytesInUse() != 0 {
				t.Errorf("%s: %d reports, want 1; %d bytes in use, want 0", name, calls, pool.BytesInUse())
			}
		})
		th.Close()
	}
}
