// SPDX-License-Identifier: Apache-2.0

package report

import (
	"net/url"
	"testing"
	"time"

	rec "prywalk/internal/store/profile"
)

// One lock has no known owner; the owner of the other had another name before, and waited for it, too.
func TestAWaitShowsWhoWorkedMeanwhileInABrowser(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	add := func(tid int, thread, lock string, owner int, from, to int64, stack ...uint64) {
		iv := rec.Interval{Stack: b.Intern(at(app, stack...)), PID: 7, TID: tid, Comm: "shop", Thread: thread,
			State: "running", End: start.UnixNano() + to, Samples: 1, Wall: to - from, CPU: to - from}
		if lock != "" {
			iv.State, iv.Wait, iv.WaitsFor, iv.Owner, iv.CPU = "sleeping", "futex", "mutex "+lock, owner, 0
		}
		b.Add(iv)
	}
	add(8, "waiter", "unowned", 0, 0, 2e9, 0x20, 0x10)
	add(9, "waiter", "owned", 11, 1e9, 3e9, 0x20, 0x10)
	add(11, "before", "", 0, 0, 1e9, 0x40)
	add(11, "holder", "owned", 0, 1e9, 2500e6, 0x20, 0x10)
	add(11, "holder", "", 0, 2500e6, 3e9, 0x60, 0x50)
	b.SetWindow(start, start.Add(3*time.Second))
	ctx := browser(t, parsed(t, b, fixtureNames))
	if s := show(ctx, t, ""); len(s.Views) != 1 || s.Views[0] != "waits-section" {
		t.Errorf("the page begins with %q", s.Views)
	}
	show(ctx, t, "view=waits&wait="+url.PathEscape("futex: mutex unowned"))
	box := text(ctx, t, "#wait")
	wants(t, "no owner", box, "meanwhile, for 1.00 s, before (11) ran or was queued compress")
	wants(t, "no owner", box, "they need not have to do with it. No owner is known")
	show(ctx, t, "view=waits&wait="+url.PathEscape("futex: mutex owned"))
	wants(t, "an owner", text(ctx, t, "#wait"),
		"owner: holder (11) for 2.00 s; meanwhile, for 500 ms, it was running walk worker")
}
