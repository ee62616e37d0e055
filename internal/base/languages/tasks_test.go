// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"slices"
	"testing"
)

func TestThreadsWithoutATaskHaveTheirSchedulersFunctions(t *testing.T) {
	for _, c := range []struct {
		want      string
		functions []string
	}{
		{GoroutineTask, []string{"runtime.futex", "runtime.stopm", "runtime.findRunnable", "runtime.mcall"}},
		{GoroutineTask, []string{"runtime.futex", "runtime.mstart0", "crosscall1", "start_thread", "clone3"}},
		{GoroutineTask, []string{"[ran between ticks]", "runtime.usleep", "runtime.sysmon", "runtime.mstart"}},
		{"", []string{"[ran between ticks]", "runtime.futex", "runtime.stopm", "runtime.mcall"}}, // it may have run one
		{"", []string{"runtime.futex", "runtime.selectgo", "main.main", "runtime.main", "runtime.goexit"}},
		{"", []string{"runtime.futex", "runtime.notesleep", "runtime.main"}},
		{"", []string{"runtime.futex", ""}},
		{"", []string{"start_thread", "clone3"}},
		{CoroutineTask, []string{"epoll_wait", "EpollSelector.select", "BaseEventLoop._run_once", "main"}},
		{CoroutineTask, []string{"epoll_wait", "", "select", "", "_run_once", "run_forever"}},
		{"", []string{"epoll_wait", "EpollSelector.select", "serve", "BaseEventLoop._run_once"}},
		{"", []string{"epoll_wait", "EpollSelector.select", "serve"}},
		{"", nil},
	} {
		task := ""
		if i := slices.IndexFunc(All, func(l *Language) bool {
			return l.Unoccupied != nil && l.Unoccupied(c.functions)
		}); i >= 0 {
			task = All[i].Task
		}
		if task != c.want {
			t.Errorf("%q: %q, want %q", c.functions, task, c.want)
		}
		holds := slices.Contains(c.functions, "serve") && slices.Contains(c.functions, "BaseEventLoop._run_once")
		if got := HoldsEventLoop(c.functions); got != holds {
			t.Errorf("%q holds an event loop: %v, want %v", c.functions, got, holds)
		}
	}
}
