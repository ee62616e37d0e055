// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"
	"testing"

	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

func TestWaitsForWorkAreMarkedAsInReport(t *testing.T) {
	f := newFixture(t)
	f.add(f.slept(1, f.at("epoll_wait", "serve", "main"), "epoll_wait", 900))
	f.add(f.slept(2, f.at("epoll_wait", "serve", "main"), "epoll_wait", 500))
	f.add(f.ran(2, f.at("compress", "serve", "main"), 300))
	f.add(f.slept(3, f.at("__futex_abstimed_wait_common64", "pthread_cond_wait", "compress", "main"),
		"futex", 800))
	f.refresh()
	snap := f.snapshot(0)
	got := map[string]string{}
	for _, by := range []string{"wait", "thread"} {
		for _, r := range snap.groups(Wall, by) {
			got[r.name()] = r.idleness.Idle
		}
	}
	for name, want := range map[string]string{
		"epoll_wait": "event-loop", "futex": "", "[running]": "",
		"worker-1 (tid 1)": "event-loop", "worker-2 (tid 2)": "", "worker-3 (tid 3)": "",
	} {
		if rule, ok := got[name]; !ok || rule != want {
			t.Errorf("%s: rule %q, %v, want %q", name, rule, ok, want)
		}
	}
	inOrder := func(rows []groupRow, want string) {
		t.Helper()
		var names []string
		for i := range rows {
			names = append(names, rows[i].name())
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("the rows are %s, want %s: idle ones last", got, want)
		}
	}
	inOrder(snap.groups(CPU, "wait"), "[running], futex, [waiting for a CPU], epoll_wait")
	inOrder(snap.groups(Wall, "wait"), "futex, [running], [waiting for a CPU], epoll_wait")
	inOrder(snap.groups(blocked, "thread"), "worker-3 (tid 3), worker-2 (tid 2), worker-1 (tid 1)")
	var text, object strings.Builder
	if err := WriteText(&text, snap, State{}, Screen{}, Wall, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "epoll_wait [idle: event-loop]") ||
		!strings.Contains(text.String(), "worker-1 (tid 1) [idle: event-loop]") {
		t.Errorf("the text has no mark:\n%s", text.String())
	}
	if err := WriteJSON(&object, snap, State{}, Wall, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(object.String(), `"idle":"event-loop"`) {
		t.Errorf("JSON has no mark: %s", object.String())
	}
}

func TestASemaphoreWithATypeIsAWaitForWork(t *testing.T) {
	f := newFixture(t)
	f.resolve = func(*profile.ModuleInfo, uint64) []profile.Frame {
		return []profile.Frame{{Name: "rayon_core::sleep::Sleep::sleep"}}
	}
	iv := f.slept(1, f.at("worker"), "futex", 900)
	iv.WaitsFor = "semaphore 0x10 (threading.Lock)"
	f.add(iv)
	f.refresh()
	rows := f.snapshot(0).groups(Wall, "wait")
	const name = "futex: threading.Lock in rayon_core::sleep::Sleep::sleep"
	if len(rows) != 1 || rows[0].name() != name || rows[0].idleness.Idle != waits.IdlePool {
		t.Errorf("%d rows, the first is %s, idle by %q", len(rows), rows[0].name(), rows[0].idleness.Idle)
	}
}
