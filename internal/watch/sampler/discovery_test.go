// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestChildrenAreSearchedOnlyAfterCreations(t *testing.T) {
	var s childrenSearch
	var got []int
	for i := range 100 {
		if s.startIfDue(ptrace.Moment(i+1)*ptrace.Moment(minDiscoverInterval), i == 10 || i == 50 || i == 51) {
			got = append(got, i)
		}
	}
	// At the start, twice after creations, and half a second after the last search.
	if want := []int{0, 10, 11, 36, 50, 51, 52, 77}; !slices.Equal(got, want) {
		t.Errorf("searches at %v, want %v", got, want)
	}
}

func TestProcessesThatLackDescriptorsAreFoundAgain(t *testing.T) {
	var u unopened
	f := foundProcess{pid: 7, start: 70}
	known := map[int]uint64{7: 70, 8: 80}
	u.update(f, syscall.EMFILE)
	u.update(foundProcess{pid: 8, start: 80}, syscall.ENOENT)
	if u.retry(ptrace.Moment(idleDiscoverInterval+1), known); known[7] != 0 || known[8] != 80 || u.count() != 1 {
		t.Errorf("known %v, %d not opened", known, u.count())
	}
	known[7] = 70
	if u.retry(ptrace.Moment(idleDiscoverInterval+2), known); known[7] != 70 {
		t.Error("found again too soon")
	}
	var s Sampler
	if s.countRefused(syscall.EMFILE); len(s.Refused()) > 0 {
		t.Errorf("it also counts as refused: %v", s.Refused())
	}
	if u.update(f, syscall.ENOENT); u.count() != 1 {
		t.Error("it has ended, and counts no more")
	}
	if u.update(f, nil); u.count() != 0 {
		t.Error("it was opened, and still counts")
	}
}

// Each look for free descriptors takes the last ones from the tracer for a moment.
func TestFreeDescriptorsAreLookedForOnceARetry(t *testing.T) {
	s := New(target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), loadedcode.NewImageCache(0), nil)
	defer s.Close()
	calls := func(pid int) (n int64) {
		testtargets.WithoutDescriptors(t, func() {
			before := procmem.Calls()
			s.openFound(foundProcess{pid: pid, start: 1})
			n = procmem.Calls() - before
		})
		return n
	}
	first, second := calls(7), calls(8)
	s.unopened.retry(ptrace.Now(), map[int]uint64{})
	if third := calls(7); first == 0 || second != 0 || third != first || s.unopened.count() != 2 {
		t.Errorf("%d calls for the first process, %d for the next one, %d after the retry; want some, none, as many; "+
			"%d not opened, want 2", first, second, third, s.unopened.count())
	}
}

func TestProcessesForWhichTheTracersQueueHasNoRoomAreFoundAgain(t *testing.T) {
	s := New(target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), loadedcode.NewImageCache(0), nil)
	defer s.Close()
	for s.control.Admit(&target.Process{}) {
	}
	pid := testtargets.Child(t, exec.Command("sleep", "1000")).Process.Pid
	f := foundProcess{pid: pid, start: startTime(pid)}
	known := map[int]uint64{pid: f.start}
	s.openFound(f)
	if s.unopened.retry(ptrace.Now(), known); known[pid] != 0 || s.unopened.count() != 1 || len(s.PIDs()) != 0 {
		t.Errorf("known %v, %d not opened, sampled %v", known, s.unopened.count(), s.PIDs())
	}
	bounded.Receive(t, "a process arrives", s.control.Arriving())
	if s.openFound(f); s.unopened.count() != 0 || !slices.Equal(s.PIDs(), []int{pid}) {
		t.Errorf("with room: %d not opened, sampled %v", s.unopened.count(), s.PIDs())
	}
}
