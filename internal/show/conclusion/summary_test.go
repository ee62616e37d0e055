// SPDX-License-Identifier: Apache-2.0

package conclusion

import "testing"

func TestWithoutADurationARecordingIsAsLongAsItsLongestThread(t *testing.T) {
	busy, net := Thread{7, 7}, Thread{7, 8}
	add := func(s *Summary) {
		s.Add(&Sample{Thread: busy, CPU: 50, Queue: 20, Blocked: 7})
		s.Add(&Sample{Thread: busy, CPU: 3})
		s.Add(&Sample{Thread: net, Blocked: 60, Queue: 10})
		s.Add(&Sample{Thread: Thread{7, 9}, Task: "goroutine", Blocked: 1000}) // tasks have no time of their own
		s.Add(&Sample{Blocked: 1000})
	}
	for duration, want := range map[int64]float64{0: 80, 500: 500} {
		s := New(duration, nil)
		add(s)
		if got := s.length(); got != want {
			t.Errorf("of %d: %v, want %v", duration, got, want)
		}
		if s.threads[busy].ready != 73 || s.threads[net].ready != 10 || len(s.threads) != 2 {
			t.Errorf("threads %+v; want 73 and 10 ready", s.threads)
		}
		if n, _ := s.queuedThreads(); n != 1 {
			t.Errorf("%d threads queued for a CPU, want 1", n)
		}
	}
	if got := New(0, nil).length(); got != 1 {
		t.Errorf("of nothing: %v, want 1", got)
	}
}
